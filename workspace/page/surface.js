// What every place that shows blocks needs: the values typed so far, and how a click is sent.
import { createContext, html, useContext, useState } from "./vendor/htm-preact.module.js";
import { ConfirmDialog } from "./confirm.js";

const Surface = createContext(null);
export const useSurface = () => useContext(Surface);

const INITIAL = {
  plain_text_input: (e) => ({ value: e.initial_value ?? null }),
  email_text_input: (e) => ({ value: e.initial_value ?? null }),
  url_text_input: (e) => ({ value: e.initial_value ?? null }),
  number_input: (e) => ({ value: e.initial_value ?? null }),
  static_select: (e) => ({ selected_option: e.initial_option ?? null }),
  radio_buttons: (e) => ({ selected_option: e.initial_option ?? null }),
  multi_static_select: (e) => ({ selected_options: e.initial_options ?? [] }),
  checkboxes: (e) => ({ selected_options: e.initial_options ?? [] }),
  users_select: (e) => ({ selected_user: e.initial_user ?? null }),
  datepicker: (e) => ({ selected_date: e.initial_date ?? null }),
  timepicker: (e) => ({ selected_time: e.initial_time ?? null }),
};

const initial = (element) =>
  Object.hasOwn(INITIAL, element.type) ? { type: element.type, ...INITIAL[element.type](element) } : null;

function elementsOf(block) {
  const many = Array.isArray(block?.elements) ? block.elements : [];
  return [block?.element, block?.accessory, ...many].filter((element) => element?.action_id);
}

/** Slack's state.values of these blocks: what was typed, else what each field began with. */
export function stateValues(blocks, typed) {
  const state = {};
  for (const block of blocks) {
    for (const element of elementsOf(block)) {
      const value = typed[block.block_id]?.[element.action_id] ?? initial(element);
      if (value) (state[block.block_id] ??= {})[element.action_id] = value;
    }
  }
  return state;
}

/**
 * Holds typed values over `blocks` and gives them to what it wraps.
 * `send(payload)` posts one action and resolves when the server answered; a second click waits for the first.
 */
export function SurfaceProvider({ id, blocks, typed, setTyped, errors = {}, send, children }) {
  const [busy, setBusy] = useState(null);
  const [asking, setAsking] = useState(null);

  const read = (blockId, element) => typed[blockId]?.[element.action_id] ?? initial(element);
  const write = (blockId, element, value) =>
    setTyped((now) => ({
      ...now, [blockId]: { ...now[blockId], [element.action_id]: { type: element.type, ...value } },
    }));

  async function deliver(blockId, element, payload) {
    setBusy(`${blockId}/${element.action_id}`);
    const changed = INITIAL[element.type]
      ? { ...typed, [blockId]: { ...typed[blockId], [element.action_id]: { type: element.type, ...payload } } } : typed;
    try {
      await send({ block_id: blockId, action_id: element.action_id, ...payload, state: stateValues(blocks, changed) });
    } finally {
      setBusy(null);
    }
  }
  const act = (blockId, element, payload) => {
    if (busy) return;
    if (element.confirm) setAsking({ blockId, element, payload });
    else deliver(blockId, element, payload);
  };
  const answer = (yes) => {
    setAsking(null);
    if (yes) deliver(asking.blockId, asking.element, asking.payload);
  };
  return html`<${Surface.Provider} value=${{ id, read, write, act, busy, errors }}>
    ${children}
    ${asking && html`<${ConfirmDialog} confirm=${asking.element.confirm} onAnswer=${answer} />`}
  <//>`;
}
