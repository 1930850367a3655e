// Interactive elements: buttons, menus and form fields. In an input block they collect, elsewhere they act.
import { html, useContext, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.module.js";
import { useSurface } from "./surface.js";
import { Names, Text, safeUrl, words } from "./text.js";

const ELEMENTS = {
  button: Button, icon_button: IconButton, feedback_buttons: FeedbackButtons, overflow: Overflow,
  static_select: Select, users_select: UserSelect, multi_static_select: Ticks, checkboxes: Ticks, radio_buttons: Radios,
  plain_text_input: TextInput, email_text_input: TextInput, url_text_input: TextInput, number_input: TextInput,
  datepicker: DateInput, timepicker: DateInput,
};

export const isElement = (element) => Object.hasOwn(ELEMENTS, element?.type ?? "");

/** One element of a block; `field` holds the id, label and error of an input block, when it stands in one. */
export function Element({ element, block, field }) {
  const Kind = ELEMENTS[element.type];
  return html`<${Kind} element=${element} block=${block} field=${field} />`;
}

/** A stateful element's value and how to change it: acts at once unless an input block only collects. */
function useValue(element, block) {
  const surface = useSurface();
  const value = surface.read(block.block_id, element);
  const acts = block.type !== "input" || block.dispatch_action;
  const change = (next) => {
    surface.write(block.block_id, element, next);
    if (acts) surface.act(block.block_id, element, next);
  };
  return [value, change, surface];
}

/** What ties a control to its label, hint and error, and to the tests. */
const hooks = (element, field) => ({
  id: field?.id, "data-action-id": element.action_id, "aria-invalid": field?.error ? "true" : undefined,
  "aria-describedby": field?.describedBy,
  "aria-label": field ? undefined : words(element.placeholder) || element.action_id,
});

function Button({ element, block }) {
  const { act, busy } = useSurface();
  const names = useContext(Names);
  if (element.visible_to_user_ids && !element.visible_to_user_ids.includes(names.me)) return null;
  const press = () => {
    const url = safeUrl(element.url ?? "");
    if (url) window.open(url, "_blank", "noopener");
    act(block.block_id, element, element.value === undefined ? {} : { value: element.value });
  };
  return html`<button type="button" class=${`button ${element.style ?? ""}`} data-action-id=${element.action_id}
      aria-label=${element.accessibility_label} onClick=${press}
      aria-busy=${busy === `${block.block_id}/${element.action_id}`}><${Text} of=${element.text} /></button>`;
}

function IconButton({ element, block }) {
  const label = words(element.text);
  const button = { ...element, accessibility_label: element.accessibility_label ?? label };
  return html`<${Button} element=${{ ...button, text: element.icon === "trash" ? "🗑" : label }} block=${block} />`;
}

// Drawn, since not every machine has a font with emoji.
const Thumb = ({ down }) => html`<svg class="thumb" viewBox="0 0 16 16" aria-hidden="true"
    transform=${down ? "rotate(180)" : undefined}>
  <path d="M1 7h3v8H1zM5 7l3-6c1.500 0 2 1 2 2v3h4c1 0 1.500 1 1.300 1.800l-1.300 5.700c-.200 1-1 1.500-1.800 1.500H5z" />
</svg>`;

function FeedbackButtons({ element, block }) {
  const { act } = useSurface();
  const [given, setGiven] = useState(null);
  const choice = (button, name) => html`<button type="button" class="button feedback"
      data-action-id=${element.action_id} data-value=${button.value} aria-pressed=${given === name}
      aria-label=${button.accessibility_label}
      onClick=${() => { setGiven(name); act(block.block_id, element, { value: button.value }); }}>
    <${Thumb} down=${name === "no"} /> <${Text} of=${button.text} /></button>`;
  return html`<span class="feedback-pair">
    ${choice(element.positive_button, "yes")}${choice(element.negative_button, "no")}
  </span>`;
}

function Overflow({ element, block }) {
  const { act } = useSurface();
  const [open, setOpen] = useState(false);
  const [sides, setSides] = useState("");
  const root = useRef();
  const trigger = useRef();
  useLayoutEffect(() => {
    if (!open) return undefined;
    root.current.querySelector("[role=menuitem]")?.focus();
    const away = (event) => root.current.contains(event.target) || setOpen(false);
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [open]);
  const toggle = () => {
    const box = (root.current.closest(".log, .dialog-body") ?? document.documentElement).getBoundingClientRect();
    const here = trigger.current.getBoundingClientRect();
    const below = here.bottom + 20 + 32 * element.options.length > box.bottom;
    setSides(`${here.left + 240 > box.right ? "to-left" : ""} ${below ? "upwards" : ""}`);
    setOpen(!open);
  };
  const choose = (option) => {
    setOpen(false);
    const { url, ...chosen } = option;
    if (safeUrl(url ?? "")) window.open(url, "_blank", "noopener");
    act(block.block_id, element, { selected_option: chosen });
  };
  const walk = (event) => {
    const items = [...root.current.querySelectorAll("[role=menuitem]")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) items.at((items.indexOf(document.activeElement) + step) % items.length)?.focus();
    if (event.key === "Escape") { setOpen(false); trigger.current.focus(); }
    if (step || event.key === "Escape") { event.preventDefault(); event.stopPropagation(); }
  };
  return html`<span class="overflow" ref=${root} onKeyDown=${open ? walk : undefined}>
    <button type="button" class="button square" ref=${trigger} data-action-id=${element.action_id} aria-haspopup="menu"
            aria-expanded=${open} aria-label="More actions" onClick=${toggle}>⋯</button>
    ${open && html`<span class=${`menu ${sides}`} role="menu">
      ${element.options.map((option) => html`<button type="button" role="menuitem" data-value=${option.value}
          onClick=${() => choose(option)}><${Text} of=${option.text} />
          ${option.description && html`<small><${Text} of=${option.description} /></small>`}</button>`)}
    </span>`}
  </span>`;
}

const allOptions = (element) => element.options ?? (element.option_groups ?? []).flatMap((group) => group.options);

function Select({ element, block, field }) {
  const [value, change] = useValue(element, block);
  const options = allOptions(element);
  const pick = (event) => change({ selected_option: options.find((o) => o.value === event.target.value) ?? null });
  const choice = (o) => html`<option value=${o.value}>${words(o.text)}</option>`;
  return html`<select class="control" ...${hooks(element, field)} value=${value.selected_option?.value ?? ""}
      onChange=${pick}>
    <option value="">${words(element.placeholder) || "Choose…"}</option>
    ${element.option_groups
      ? element.option_groups.map((g) => html`<optgroup label=${words(g.label)}>${g.options.map(choice)}</optgroup>`)
      : options.map(choice)}
  </select>`;
}

function UserSelect({ element, block, field }) {
  const { people } = useContext(Names);
  const [value, change] = useValue(element, block);
  return html`<select class="control" ...${hooks(element, field)} value=${value.selected_user ?? ""}
      onChange=${(event) => change({ selected_user: event.target.value || null })}>
    <option value="">${words(element.placeholder) || "Choose…"}</option>
    ${[...people].map(([id, name]) => html`<option value=${id}>${name}</option>`)}
  </select>`;
}

function choices({ element, block, field, surface, kind, isOn, toggle }) {
  const group = `${surface.id}-${block.block_id}-${element.action_id}`;
  return html`<div class="choices" role=${kind === "radio" ? "radiogroup" : "group"} ...${hooks(element, field)}
                   aria-label=${words(block.label) || element.action_id}>
    ${allOptions(element).map((option) => html`<label class="choice">
      <input type=${kind} name=${group} value=${option.value} checked=${isOn(option)}
        onChange=${(event) => toggle(option, event.target.checked)} />
      <span><${Text} of=${option.text} />
        ${option.description && html`<small><${Text} of=${option.description} /></small>`}</span>
    </label>`)}
  </div>`;
}

/** Checkboxes, and a multi-select shown as such: up to 100 options scroll. */
function Ticks({ element, block, field }) {
  const [value, change, surface] = useValue(element, block);
  const on = value.selected_options;
  const isOn = (option) => on.some((o) => o.value === option.value);
  const toggle = (option, ticked) =>
    change({ selected_options: ticked ? [...on, option] : on.filter((o) => o.value !== option.value) });
  return choices({ element, block, field, surface, kind: "checkbox", isOn, toggle });
}

function Radios({ element, block, field }) {
  const [value, change, surface] = useValue(element, block);
  const isOn = (option) => value.selected_option?.value === option.value;
  const toggle = (option) => change({ selected_option: option });
  return choices({ element, block, field, surface, kind: "radio", isOn, toggle });
}

const INPUT_TYPES = { email_text_input: "email", url_text_input: "url", datepicker: "date", timepicker: "time" };

function TextInput({ element, block, field }) {
  const surface = useSurface();
  const value = surface.read(block.block_id, element).value ?? "";
  const common = {
    ...hooks(element, field), class: "control", value, placeholder: words(element.placeholder), autocomplete: "off",
    spellcheck: false, autofocus: element.focus_on_load,
    onInput: (event) => surface.write(block.block_id, element, { value: event.target.value || null }),
  };
  if (element.multiline) return html`<textarea rows="5" ...${common}></textarea>`;
  const enter = (event) => {
    if (event.key !== "Enter" || !block.dispatch_action) return;
    event.preventDefault();
    surface.act(block.block_id, element, { value: event.target.value });
  };
  return html`<input type=${INPUT_TYPES[element.type] ?? "text"} onKeyDown=${enter} ...${common}
                     inputmode=${element.type === "number_input" ? "decimal" : undefined} />`;
}

function DateInput({ element, block, field }) {
  const [value, change] = useValue(element, block);
  const key = element.type === "datepicker" ? "selected_date" : "selected_time";
  return html`<input class="control" type=${INPUT_TYPES[element.type]} ...${hooks(element, field)}
      value=${value[key] ?? ""} onChange=${(event) => change({ [key]: event.target.value || null })} />`;
}
