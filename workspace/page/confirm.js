// The native <dialog>: keeps focus inside, makes the rest of the page inert, closes on Esc; and the small
// "are you sure" that elements with a `confirm` object ask for.
import { html, useLayoutEffect, useRef } from "./vendor/htm-preact.module.js";
import { Text, words } from "./text.js";

/** Props for a <dialog> that opens as it is drawn, and gives the focus back when it goes. */
export function useModalDialog(onClose) {
  const ref = useRef();
  useLayoutEffect(() => {
    const before = document.activeElement;
    ref.current.showModal();
    return () => before?.isConnected && before.focus?.();
  }, []);
  const onCancel = (event) => {
    if (event.target !== ref.current) return;
    event.preventDefault();
    onClose();
  };
  return { ref, onCancel };
}

/** The `confirm` object of an element: its title, text and two answers. */
export function ConfirmDialog({ confirm, onAnswer }) {
  const dialog = useModalDialog(() => onAnswer(false));
  return html`<dialog class="dialog small" ...${dialog} data-testid="confirm" aria-label=${words(confirm.title)}>
    <header><h2><${Text} of=${confirm.title} /></h2></header>
    <div class="dialog-body"><${Text} of=${confirm.text} /></div>
    <footer>
      <button type="button" class="button" data-testid="confirm-deny" onClick=${() => onAnswer(false)}>
        ${words(confirm.deny) || "Cancel"}
      </button>
      <button type="button" class=${`button ${confirm.style === "danger" ? "danger" : "primary"}`}
              data-testid="confirm-ok" onClick=${() => onAnswer(true)}>${words(confirm.confirm) || "OK"}</button>
    </footer>
  </dialog>`;
}
