// The page: sidebar, channel or App Home, thread, and the dialog on top.
// For tests: data-testid on each part, data-ts on messages, data-block-id and data-action-id inside them.
import { html, render, useState } from "./vendor/htm-preact.module.js";
import { useWorkspace } from "./api.js";
import { Modal } from "./modal.js";
import { HOME, usePlace } from "./place.js";
import { Channel, Home, Thread } from "./rooms.js";
import { Sidebar } from "./sidebar.js";
import { Names } from "./text.js";

const NOWHERE = { id: "", name: "nowhere", is_im: false, member: false };

const namesIn = ({ me, people, bot, channels, usergroups = [] }) => ({
  me: me.id,
  people: new Map([...people, bot].map(({ id, name }) => [id, name])),
  channels: new Map(channels.map(({ id, name }) => [id, name])),
  groups: new Map(usergroups.map(({ id, handle }) => [id, handle])),
});

const channelAt = (place, channels) => channels.find(({ id }) => id === place.channel)
  ?? channels.find((c) => c.member && !c.is_im) ?? channels[0] ?? NOWHERE;

/** What to tell the person in this channel: the workspace's warnings and refusals of our own posts, each until dismissed. */
function useToasts(warnings, place) {
  const [troubles, setTroubles] = useState([]);
  const [dismissed, setDismissed] = useState(new Set());
  const warned = new Set(warnings.map(({ text }) => text));
  const all = [...warnings, ...troubles.filter(({ text }) => !warned.has(text))]
    .filter(({ channel }) => !channel || channel === place);
  return {
    warned,
    toasts: all.filter(({ id }) => !dismissed.has(id)),
    trouble: ({ message }) => setTroubles((now) => [...now, { id: `trouble-${now.length}`, text: message }]),
    dismiss: (id) => setDismissed((now) => new Set([...now, id])),
  };
}

function App() {
  const [place, go] = usePlace();
  const { state, offline, send } = useWorkspace(place.person);
  const channel = channelAt(place, state?.channels ?? []);
  const { warned, toasts, trouble, dismiss } = useToasts(state?.warnings ?? [], channel.id);
  if (!state) return html`<p class="loading" role="status">${offline || "Opening the workspace…"}</p>`;

  const atHome = place.channel === HOME;
  const threaded = !atHome && (state.messages[channel.id] ?? []).some(({ ts }) => ts === place.thread);
  const here = { state, send, go, trouble, channel };
  const notes = html`<${Toasts} toasts=${toasts} dismiss=${dismiss} />`;
  document.title = `${atHome ? state.bot.name : channel.name} · ${state.me.name} · Local workspace`;

  return html`<${Names.Provider} value=${namesIn(state)}>
    <div class=${`app ${threaded ? "with-thread" : ""}`}>
      <${Sidebar} ...${here} place=${{ ...place, channel: atHome ? HOME : channel.id }} />
      ${atHome ? html`<${Home} key=${state.me.id} ...${here} />`
        : html`<${Channel} key=${`${state.me.id}/${channel.id}`} ...${here} />`}
      ${threaded && html`<${Thread} key=${`${state.me.id}/${place.thread}`} ts=${place.thread} ...${here} />`}
      ${offline && html`<p class="offline" role="status">${offline}</p>`}
      ${state.modal
        ? html`<${Modal} key=${state.modal.id} view=${state.modal} post=${send} told=${warned}>${notes}<//>` : notes}
    </div>
  <//>`;
}

function Toasts({ toasts, dismiss }) {
  const toast = ({ id, text }) => html`<div class="toast" key=${id} role="alert" data-testid="toast">
    <span>${text}</span>
    <button type="button" class="icon-button" aria-label="Dismiss" onClick=${() => dismiss(id)}>✕</button></div>`;
  return html`<div class="toasts" aria-live="assertive">${toasts.map(toast)}</div>`;
}

render(html`<${App} />`, document.getElementById("app"));
