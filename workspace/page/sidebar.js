// The left side: who one is, and where one can go.
import { html, useRef } from "./vendor/htm-preact.module.js";
import { Avatar } from "./messages.js";
import { HOME, addressOf, follow } from "./place.js";

/** Channels with something new since this person last looked, for as long as the page is open. */
function useUnread(state, place) {
  const seen = useRef(new Map());
  const unread = new Set();
  for (const { id } of state.channels) {
    const key = `${state.me.id}/${id}`;
    const latest = (state.messages[id] ?? []).reduce((max, { ts }) => (ts > max ? ts : max), "");
    if (!seen.current.has(key) || id === place.channel) seen.current.set(key, latest);
    if (latest > seen.current.get(key)) unread.add(id);
  }
  return unread;
}

export function Sidebar({ state, place, go, send, trouble }) {
  const unread = useUnread(state, place);
  const entry = (id, sign, label, testid, onOpen) => html`<${Entry} key=${id} sign=${sign} label=${label}
    testid=${testid} current=${place.channel === id} fresh=${unread.has(id)}
    to=${addressOf({ ...place, channel: id, thread: null })}
    open=${() => { go({ channel: id, thread: null }); onOpen?.(); }} />`;
  const rooms = (direct) => state.channels.filter((room) => room.is_im === direct)
    .map((room) => entry(room.id, signOf(room), room.name, `channel-${room.id}`));
  const openHome = () => send("/ui/home", {}).catch(trouble);

  return html`<nav class="sidebar" aria-label="Workspace">
    <h1 data-testid="workspace-name">Local workspace</h1>
    <${Persons} state=${state} place=${place} go=${go} />
    <section><h2>Channels</h2><ul>${rooms(false)}</ul></section>
    <section><h2>Direct messages</h2><ul>${rooms(true)}</ul></section>
    <section><h2>Apps</h2><ul>${entry(HOME, "✓", state.bot.name, "home-link", openHome)}</ul></section>
    ${state.connected === false && html`<p class="sidebar-foot warn" role="status">
      ${`${state.bot.name} is not connected. It hears nothing until it is.`}</p>`}
    <p class="sidebar-foot">Everything here stays on this machine. Open a second window to be two people at once.</p>
  </nav>`;
}

const signOf = (room) => (room.is_im ? "●" : room.is_private ? "◇" : "#");

function Entry({ sign, label, testid, current, fresh, to, open }) {
  return html`<li><a href=${to} class=${fresh ? "unread" : ""} aria-current=${current ? "page" : undefined}
      data-testid=${testid} onClick=${(event) => follow(event, open)}>
    <span class="sign" aria-hidden="true">${sign}</span>${label}</a></li>`;
}

function Persons({ state, place, go }) {
  const persons = state.people.filter((person) => person.kind !== "bot");
  return html`<section class="persons" role="group" aria-label="You are" data-testid="person-switch">
    <h2>You are</h2>
    ${persons.map(({ id, name, kind }) => html`<a key=${id} href=${addressOf({ ...place, person: id })}
        data-testid=${`person-${id}`} aria-current=${id === state.me.id ? "true" : undefined}
        onClick=${(event) => follow(event, () => go({ person: id }))}>
      <${Avatar} id=${id} name=${name} />${name}${kind !== "member" && html`<small>${kind}</small>`}</a>`)}
  </section>`;
}
