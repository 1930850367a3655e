// Where a person writes: Enter sends, Shift+Enter breaks the line, `@` offers people, `/` offers commands.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.module.js";

const drafts = new Map();

/** What was typed, with `@Name` of someone we know as `<@ID>`, except in code; the workspace does the escaping. */
export function encode(text, people) {
  const ids = new Map(people.map(({ id, name }) => [name.toLowerCase(), id]));
  const names = [...ids.keys()].map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .sort((a, b) => b.length - a.length);
  const named = new RegExp(`(?<![\\p{L}\\p{N}_<])@(${names.join("|")})(?![\\p{L}\\p{N}_-])`, "giu");
  return text.split(/(```[^]*?```|`[^`\n]+`)/).map((part, i) =>
    i % 2 ? part : part.replace(named, (_, name) => `<@${ids.get(name.toLowerCase())}>`)).join("");
}

/** The half-typed mention or command before the caret, with what could complete it; or null. */
function suggest(before, { people, commands, inThread }) {
  const at = before.match(/(?:^|\s)@([^\s@]*)$/);
  if (at) {
    const options = people.filter(({ name }) => name.toLowerCase().startsWith(at[1].toLowerCase()))
      .map(({ id, name, note }) => ({ key: id, word: `@${name}`, note }));
    return { length: at[1].length + 1, options };
  }
  if (inThread || !/^\/\S*$/.test(before)) return null;
  const options = commands.filter(({ command }) => command.startsWith(before.toLowerCase()))
    .map(({ command, description, usage_hint: hint }) => ({ key: command, word: command, hint, note: description }));
  return { length: before.length, options };
}

/** How a line is sent: {path, body}, or {refusal} when Slack would not take it. */
function route(text, { people, commands, inThread }) {
  const command = text.match(/^\/\S+/)?.[0];
  if (!command) return { path: "/ui/message", body: { text: encode(text, people) } };
  if (inThread) return { refusal: `${command} is not supported in threads. Sorry!` };
  if (!commands.some((known) => known.command === command)) {
    return { refusal: `${command} is not a valid command. To send it as a message, put a space before the "/".` };
  }
  return { path: "/ui/command", body: { command, text: text.slice(command.length).trim() } };
}

/**
 * `where` names the draft and, with "thread-" or nothing, the test ids; `people` are {id, name, note};
 * `send(path, body)` rejects with a sentence, and the text then stays; `focused`: ready to type in.
 */
export function Composer({ where, inThread = false, placeholder, people, commands, send, focused = false }) {
  const [text, setText] = useState(drafts.get(where) ?? "");
  const [caret, setCaret] = useState(0);
  const [picked, setPicked] = useState(0);
  const [hidden, setHidden] = useState(false);
  const [notice, setNotice] = useState(null);
  const area = useRef();
  const context = { people, commands, inThread };
  const found = hidden ? null : suggest(text.slice(0, caret), context);
  const options = found?.options.slice(0, 8) ?? [];
  const name = inThread ? "thread-" : "";

  const write = (next, at) => {
    drafts.set(where, next);
    setText(next);
    setCaret(at);
    setPicked(0);
    setHidden(false);
    setNotice(null);
  };
  useLayoutEffect(() => {
    area.current.style.height = "auto";
    area.current.style.height = `${Math.min(area.current.scrollHeight, 200)}px`;
  }, [text]);

  useEffect(() => { // not on a phone, where the keyboard would cover the page
    if (focused && matchMedia("(hover: hover)").matches) area.current.focus({ preventScroll: true });
  }, [where]);

  const complete = ({ word }) => {
    const start = caret - found.length;
    const next = `${text.slice(0, start)}${word} ${text.slice(caret).trimStart()}`;
    write(next, start + word.length + 1);
    setTimeout(() => area.current?.setSelectionRange(start + word.length + 1, start + word.length + 1));
    area.current.focus();
  };
  async function submit() {
    if (!text.trim()) return;
    const sent = text;
    const { path, body, refusal } = route(text.trimEnd(), context);
    if (refusal) { setNotice(refusal); return; }
    write("", 0);
    try {
      await send(path, body);
    } catch (error) {
      write(sent, sent.length);
      setNotice(error.message);
    }
  }
  const keys = (event) => {
    if (event.isComposing) return;
    const choice = options[picked];
    const half = choice && choice.word.toLowerCase() !== text.slice(caret - found.length, caret).toLowerCase();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (choice && step) setPicked((picked + step + options.length) % options.length);
    else if (choice && event.key === "Escape") setHidden(true);
    else if (choice && (event.key === "Tab" || (event.key === "Enter" && half))) complete(choice);
    else if (event.key === "Enter" && !event.shiftKey) submit();
    else return;
    event.preventDefault();
  };
  const track = (event) => setCaret(event.target.selectionStart);
  const listId = `${name}suggestions`;

  return html`<div class="composer">
    ${notice && html`<p class="notice" role="status" data-testid=${`${name}notice`}>${notice}</p>`}
    ${options.length > 0 && html`<ul class="suggestions" role="listbox" id=${listId} data-testid=${listId}>
      ${options.map((option, i) => html`<li key=${option.key} id=${`${listId}-${i}`} role="option"
          aria-selected=${i === picked} onMouseDown=${(event) => { event.preventDefault(); complete(option); }}>
        <strong>${option.word}</strong>${option.hint && html`<code>${option.hint}</code>`}
        <span>${option.note}</span></li>`)}
    </ul>`}
    <div class="composer-box">
      <textarea ref=${area} rows="1" value=${text} placeholder=${placeholder} aria-label=${placeholder}
        data-testid=${`${name}composer`} aria-autocomplete="list" aria-controls=${listId}
        aria-activedescendant=${options.length ? `${listId}-${picked}` : undefined}
        onInput=${({ target }) => write(target.value, target.selectionStart)} onKeyDown=${keys} onKeyUp=${track}
        onClick=${track}></textarea>
      <button type="button" class="send" aria-label="Send" data-testid=${`${name}send`} disabled=${!text.trim()}
        onClick=${submit}>➤</button>
    </div>
  </div>`;
}
