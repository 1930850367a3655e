// A view as a dialog over the page: title, fields, their errors, submit and close.
import { html, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.module.js";
import { Blocks } from "./blocks.js";
import { useModalDialog } from "./confirm.js";
import { SurfaceProvider, stateValues } from "./surface.js";
import { words } from "./text.js";

/**
 * An open view. `post(path, body)` rejects with a sentence, which is shown inside the dialog unless its fields
 * say it already, or one of the sentences `told` on the page does.
 */
export function Modal({ view, post, told, children }) {
  const blocks = view.blocks ?? [];
  const [typed, setTyped] = useState(view.values ?? {});
  const [trouble, setTrouble] = useState(null);
  const [sending, setSending] = useState(false);
  const form = useRef();
  const errors = view.errors ?? {};
  const busy = sending || view.busy;

  const tell = async (path, body) => {
    setTrouble(null);
    try {
      await post(path, { view_id: view.id, ...body });
    } catch (error) {
      setTrouble(error.message);
    }
  };
  const close = () => tell("/ui/close", {});
  const dialog = useModalDialog(close);

  async function submit(event) {
    event.preventDefault();
    if (busy) return;
    setSending(true);
    await tell("/ui/submit", { values: stateValues(blocks, typed) });
    setSending(false);
  }
  const faulty = Object.keys(errors).join();
  useLayoutEffect(() => {
    const first = faulty && form.current.querySelector("[aria-invalid=true]");
    if (first) (first.querySelector("input") ?? first).focus();
  }, [faulty]);

  const shape = blocks.map((block) => block.block_id).join();
  useLayoutEffect(() => {
    // After a placeholder is replaced the first field takes the focus, unless the person is already typing.
    // What there is to read above it stays in view.
    const first = form.current?.querySelector(".control");
    if (!document.activeElement?.matches(".control")) first?.focus({ preventScroll: true });
  }, [shape]);

  return html`<dialog class="dialog" ...${dialog} data-testid="modal" data-view-id=${view.id}
                      data-callback-id=${view.callback_id} aria-label=${words(view.title)} aria-busy=${busy}>
    <form ref=${form} onSubmit=${submit} novalidate>
      <header>
        <h2>${words(view.title)}</h2>
        <button type="button" class="icon-button" aria-label="Close" data-testid="modal-x" onClick=${close}>✕</button>
      </header>
      <div class="dialog-body">
        ${trouble && !faulty && !told.has(trouble) && html`<div class="alert error" role="alert"
          data-testid="modal-error">${trouble}</div>`}
        <${SurfaceProvider} id=${view.id} blocks=${blocks} typed=${typed} setTyped=${setTyped} errors=${errors}
                            send=${(action) => tell("/ui/action", action)}>
          <${Blocks} blocks=${blocks} />
        <//>
      </div>
      <footer>
        <button type="button" class="button" data-testid="modal-close" onClick=${close}>
          ${words(view.close) || (view.submit ? "Cancel" : "Close")}
        </button>
        ${view.submit && html`<button type="submit" class="button primary" data-testid="modal-submit" aria-busy=${busy}
            disabled=${busy}>${words(view.submit)}</button>`}
      </footer>
    </form>
    ${children}
  </dialog>`;
}
