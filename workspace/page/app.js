// The page: who you are and where, the channel, its thread, App Home and the dialog on top.
// For tests: data-testid on each part, data-ts on messages, data-block-id and data-action-id inside them.
import { html, render, useEffect, useRef, useState } from "./vendor/htm-preact.module.js";
import { useWorkspace } from "./api.js";
import { Blocks } from "./blocks.js";
import { Composer } from "./composer.js";
import { Avatar, Log, Message, dayOf, followsOn } from "./messages.js";
import { Modal } from "./modal.js";
import { SurfaceProvider } from "./surface.js";
import { Names } from "./text.js";

const FIRST_PERSON = "U_ANN";
const HOME = "home";
const NOWHERE = { id: "", name: "nowhere", is_im: false, member: false };

/** The address says who and where: /?as=U_ANN#CHANNEL/THREAD, or a message's permalink /archives/CHANNEL/pTS. */
function readAddress() {
  const query = new URLSearchParams(location.search);
  const [, linked, ts] = location.pathname.match(/^\/archives\/(\w+)\/p(\d+)$/) ?? [];
  const [channel, thread] = decodeURIComponent(location.hash.slice(1)).split("/");
  return {
    person: query.get("as") || FIRST_PERSON, channel: channel || linked,
    thread: thread || query.get("thread_ts") || ts?.replace(/(\d{6})$/, ".$1") || null,
  };
}
const addressOf = ({ person, channel, thread }) =>
  `/?as=${encodeURIComponent(person)}${channel ? `#${channel}${thread ? `/${thread}` : ""}` : ""}`;

function usePlace() {
  const [place, setPlace] = useState(readAddress);
  useEffect(() => {
    const back = () => setPlace(readAddress());
    window.addEventListener("popstate", back);
    return () => window.removeEventListener("popstate", back);
  }, []);
  const go = (change) => {
    const next = { ...readAddress(), ...change };
    history.pushState(null, "", addressOf(next));
    setPlace(next);
  };
  return [place, go];
}

function App() {
  const [place, go] = usePlace();
  const { state, offline, send } = useWorkspace(place.person);
  const [troubles, setTroubles] = useState([]);
  const trouble = (error) => setTroubles((all) => [...all, { id: `local-${Date.now()}-${all.length}`, text: error.message }]);
  const [dismissed, setDismissed] = useState(new Set());
  const unread = useUnread(state, place);

  if (!state) return html`<p class="loading" role="status">${offline || "Opening the workspace…"}</p>`;
  const channel = state.channels.find((c) => c.id === place.channel)
    ?? state.channels.find((c) => c.member && !c.is_im) ?? state.channels[0] ?? NOWHERE;
  const atHome = place.channel === HOME;
  const threaded = !atHome && (state.messages[channel.id] ?? []).some((message) => message.ts === place.thread);
  const names = {
    me: state.me.id,
    people: new Map([...state.people, state.bot].map((p) => [p.id, p.name])),
    channels: new Map(state.channels.map((c) => [c.id, c.name])),
    groups: new Map((state.usergroups ?? []).map((g) => [g.id, g.handle])),
  };
  const warned = new Set(state.warnings.map(({ text }) => text));
  const toasts = [...state.warnings, ...troubles.filter(({ text }) => !warned.has(text))].filter(({ id }) => !dismissed.has(id));
  const shownToasts = html`<${Toasts} toasts=${toasts} dismiss=${(id) => setDismissed(new Set([...dismissed, id]))} />`;
  const open = { state, send, go, trouble, channel, people: addressees(state) };
  const title = atHome ? state.bot.name : `${channel.is_im ? "" : "#"}${channel.name}`;
  document.title = `${title} · ${state.me.name} · Local workspace`;

  return html`<${Names.Provider} value=${names}>
    <div class=${`app ${threaded ? "with-thread" : ""}`}>
      <${Sidebar} state=${state} place=${{ ...place, channel: atHome ? HOME : channel.id }} go=${go} unread=${unread} send=${send} trouble=${trouble} />
      ${atHome ? html`<${Home} ...${open} />` : html`<${Channel} key=${`${state.me.id}/${channel.id}`} ...${open} />`}
      ${threaded && html`<${Thread} key=${`${state.me.id}/${place.thread}`} ts=${place.thread} ...${open} />`}
      ${offline && html`<p class="offline" role="status">${offline}</p>`}
      ${state.modal ? html`<${Modal} key=${state.modal.id} view=${state.modal} post=${send} told=${warned}>${shownToasts}<//>` : shownToasts}
    </div>
  <//>`;
}

/** Whom an `@` can mean: the bot first, then everyone else but oneself. */
const addressees = ({ people, bot, me }) => [
  { id: bot.id, name: bot.name, note: "app" },
  ...people.filter((p) => p.id !== bot.id && p.kind !== "bot" && p.id !== me.id).map(({ id, name, kind }) => ({ id, name, note: kind === "member" ? "" : kind })),
];

/** Channels with something new since this person last looked, for as long as the page is open. */
function useUnread(state, place) {
  const seen = useRef(new Map());
  const unread = new Set();
  for (const { id } of state?.channels ?? []) {
    const key = `${state.me.id}/${id}`;
    const latest = (state.messages[id] ?? []).reduce((max, { ts }) => (ts > max ? ts : max), "");
    if (!seen.current.has(key) || id === place.channel) seen.current.set(key, latest);
    if (latest > seen.current.get(key)) unread.add(id);
  }
  return unread;
}

function Sidebar({ state, place, go, unread, send, trouble }) {
  const link = (id, label, sign, testid, extra) => html`<li><a href=${addressOf({ ...place, channel: id, thread: null })} class=${unread.has(id) ? "unread" : ""}
      aria-current=${place.channel === id ? "page" : undefined} data-testid=${testid} onClick=${(event) => follow(event, () => { go({ channel: id, thread: null }); extra?.(); })}>
      <span class="sign" aria-hidden="true">${sign}</span>${label}</a></li>`;
  const rooms = (is_im) => state.channels.filter((c) => c.is_im === is_im)
    .map((c) => link(c.id, c.name, is_im ? "●" : c.is_private ? "◇" : "#", `channel-${c.id}`));
  const home = () => send("/ui/home", {}).catch(trouble);
  const persons = state.people.filter((p) => p.kind !== "bot");
  return html`<nav class="sidebar" aria-label="Workspace">
    <h1 data-testid="workspace-name">Local workspace</h1>
    <section class="persons" role="group" aria-label="You are" data-testid="person-switch">
      <h2>You are</h2>
      ${persons.map(({ id, name, kind }) => html`<a href=${addressOf({ ...place, person: id, thread: null })} data-testid=${`person-${id}`}
          aria-current=${id === state.me.id ? "true" : undefined} onClick=${(event) => follow(event, () => go({ person: id }))}>
        <${Avatar} id=${id} name=${name} />${name}${kind !== "member" && html`<small>${kind}</small>`}</a>`)}
    </section>
    <section><h2>Channels</h2><ul>${rooms(false)}</ul></section>
    <section><h2>Direct messages</h2><ul>${rooms(true)}</ul></section>
    <section><h2>Apps</h2><ul>${link(HOME, state.bot.name, "✓", "home-link", home)}</ul></section>
    ${state.connected === false && html`<p class="sidebar-foot warn" role="status">${state.bot.name} is not connected. It hears nothing until it is.</p>`}
    <p class="sidebar-foot">Everything here stays on this machine. Open a second window to be two people at once.</p>
  </nav>`;
}

/** A plain click moves inside the page; with a modifier the browser opens a window as always. */
function follow(event, move) {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  event.preventDefault();
  move();
}

const STATUS = { processing: "Working…", suspended: "Waiting for a person" };
const statusOf = (state, channel, ts) =>
  state.statuses.find((s) => s.channel === channel && s.thread_ts === ts && Object.hasOwn(STATUS, s.status))?.status;
const isReply = (message) => Boolean(message.thread_ts) && message.thread_ts !== message.ts;
const inOrder = (messages) => [...messages].sort((a, b) => (a.ts < b.ts ? -1 : Number(a.ts > b.ts)));

function Channel({ state, send, go, trouble, channel, people }) {
  const all = inOrder(state.messages[channel.id] ?? []);
  const shown = all.filter((message) => !isReply(message));
  const title = channel.is_im ? channel.name : `#${channel.name}`;
  const replies = ({ ts, reply_count }) => Math.max(reply_count ?? 0, all.filter((m) => isReply(m) && m.thread_ts === ts).length);
  return html`<main class="pane" data-pane data-testid="channel" data-channel=${channel.id}>
    <header class="pane-head"><h2>${title}</h2></header>
    <${Log} label=${`Messages in ${title}`} mark=${state.rev} place=${channel.id}>
      ${shown.length === 0 && html`<p class="empty">Nothing here yet. Write to <strong>@${state.bot.name}</strong> to begin.</p>`}
      ${shown.map((message, i) => {
        const newDay = i === 0 || dayOf(shown[i - 1]) !== dayOf(message);
        return html`${newDay && html`<div class="day" key=${`day-${message.ts}`}><span>${dayOf(message)}</span></div>`}
          <${Message} key=${message.ts} message=${message} channel=${channel.id} send=${send} onTrouble=${trouble}
            follows=${!newDay && followsOn(message, shown[i - 1])} replies=${replies(message)}
            status=${STATUS[statusOf(state, channel.id, message.ts)]} onReply=${() => go({ channel: channel.id, thread: message.ts })} />`;
      })}
    <//>
    ${channel.member ? html`<${Composer} where=${`${state.me.id}/${channel.id}`} placeholder=${`Message ${title}`} people=${people} commands=${state.commands}
        send=${(path, body) => send(path, { channel: channel.id, ...body })} />`
      : html`<p class="not-member" role="note">${state.me.name} is not a member of ${title}.</p>`}
  </main>`;
}

function Thread({ ts, state, send, go, trouble, channel, people }) {
  const all = inOrder(state.messages[channel.id] ?? []);
  const shown = all.filter((message) => message.ts === ts || message.thread_ts === ts);
  const replies = shown.filter(isReply).length;
  const status = statusOf(state, channel.id, ts);
  const stop = () => send("/ui/stop", { channel: channel.id, thread_ts: ts }).catch(trouble);
  return html`<aside class="pane thread" data-pane data-testid="thread" data-thread=${ts} aria-label="Thread">
    <header class="pane-head"><h2>Thread</h2><span class="where">${channel.is_im ? "" : "#"}${channel.name}</span>
      <button type="button" class="icon-button" aria-label="Close thread" data-testid="thread-close" onClick=${() => go({ thread: null })}>✕</button></header>
    <${Log} label="Thread" mark=${state.rev} place=${ts}>
      ${shown.map((message, i) => html`
        <${Message} key=${message.ts} message=${message} channel=${channel.id} send=${send} onTrouble=${trouble} follows=${i > 1 && followsOn(message, shown[i - 1])} />
        ${message.ts === ts && replies > 0 && html`<div class="day reply-count" key="count"><span>${replies === 1 ? "1 reply" : `${replies} replies`}</span></div>`}`)}
    <//>
    ${status && html`<p class=${`status ${status}`} role="status" data-testid="status">${STATUS[status]}
      ${status === "processing" && html`<button type="button" class="button" data-testid="stop" onClick=${stop}>Stop</button>`}</p>`}
    ${channel.member && html`<${Composer} where=${`${state.me.id}/${channel.id}/${ts}`} inThread placeholder="Reply…" people=${people} commands=${state.commands}
      send=${(path, body) => send(path, { channel: channel.id, thread_ts: ts, ...body })} />`}
  </aside>`;
}

function Home({ state, send, go, trouble }) {
  const [typed, setTyped] = useState({});
  const im = state.channels.find((c) => c.is_im);
  const act = (action) => send("/ui/action", { view_id: state.home_id ?? HOME, ...action }).catch(trouble);
  return html`<main class="pane" data-pane data-testid="home">
    <header class="pane-head"><h2>${state.bot.name}</h2><span class="tabs"><span aria-current="page">Home</span>
      ${im && html`<button type="button" onClick=${() => go({ channel: im.id, thread: null })}>Messages</button>`}</span></header>
    <div class="log home">
      ${state.home ? html`<${SurfaceProvider} id=${HOME} blocks=${state.home} typed=${typed} setTyped=${setTyped} send=${act}><${Blocks} blocks=${state.home} /><//>`
        : html`<p class="empty">${state.bot.name} has not published its Home for ${state.me.name} yet.</p>`}
    </div>
  </main>`;
}

function Toasts({ toasts, dismiss }) {
  return html`<div class="toasts" aria-live="assertive">${toasts.map(({ id, text }) => html`<div class="toast" key=${id} role="alert" data-testid="toast">
    <span>${text}</span><button type="button" class="icon-button" aria-label="Dismiss" onClick=${() => dismiss(id)}>✕</button></div>`)}</div>`;
}

render(html`<${App} />`, document.getElementById("app"));
