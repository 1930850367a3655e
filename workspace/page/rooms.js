// The middle and the right: a channel, one of its threads, and App Home.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.module.js";
import { Blocks } from "./blocks.js";
import { Composer } from "./composer.js";
import { Log, Message, countReplies, dayOf, followsOn } from "./messages.js";
import { HOME } from "./place.js";
import { SurfaceProvider } from "./surface.js";

const STATUS = { processing: "Working…", suspended: "Waiting for a person" };

const isWriting = (message) => message.stream === "open";
const statusOf = (state, channel, ts) =>
  state.statuses.find((s) => s.channel === channel && s.thread_ts === ts && Object.hasOwn(STATUS, s.status))?.status;
const isReply = (message) => Boolean(message.thread_ts) && message.thread_ts !== message.ts;
const isCounted = (message) => isReply(message) && !message.ephemeral;
const inOrder = (messages) => [...messages].sort((a, b) => (a.ts < b.ts ? -1 : Number(a.ts > b.ts)));
const titleOf = (channel) => (channel.is_im ? channel.name : `#${channel.name}`);

/** Whom an `@` can mean: the bot first, then everyone else but oneself. */
function addressees({ people, bot, me }) {
  const others = people.filter((p) => p.kind !== "bot" && p.id !== me.id);
  const named = others.map(({ id, name, kind }) => ({ id, name, note: kind === "member" ? "" : kind }));
  return [{ id: bot.id, name: bot.name, note: "app" }, ...named];
}

/** Opens the thread of the message that was sent last from here, as soon as it is answered. */
function useAnsweredThread(messages, open) {
  const awaited = useRef(null);
  const answered = messages.find((m) => isCounted(m) && m.thread_ts === awaited.current);
  useEffect(() => {
    if (!answered) return;
    awaited.current = null;
    open(answered.thread_ts);
  }, [answered?.ts]);
  return (ts) => { awaited.current = ts ?? null; };
}

export function Channel({ state, send, go, trouble, channel }) {
  const all = inOrder(state.messages[channel.id] ?? []);
  const shown = all.filter((message) => !isReply(message));
  const awaitAnswer = useAnsweredThread(all, (thread) => go({ channel: channel.id, thread }));
  const write = (path, body) =>
    send(path, { channel: channel.id, ...body }).then(({ ts }) => awaitAnswer(ts));
  const examples = channel.member && !all.some(({ user }) => user === state.me.id) ? state.examples ?? [] : [];
  const title = titleOf(channel);
  const replies = ({ ts, reply_count: told }) =>
    Math.max(told ?? 0, all.filter((message) => isCounted(message) && message.thread_ts === ts).length);
  const row = (message, i) => {
    const day = dayOf(message);
    const newDay = i === 0 || dayOf(shown[i - 1]) !== day;
    return html`
      ${newDay && html`<div class="day" key=${`day-${message.ts}`}><span>${day}</span></div>`}
      <${Message} key=${message.ts} message=${message} channel=${channel.id} send=${send} onTrouble=${trouble}
        follows=${!newDay && followsOn(message, shown[i - 1])} replies=${replies(message)}
        status=${STATUS[statusOf(state, channel.id, message.ts)]}
        onReply=${() => go({ channel: channel.id, thread: message.ts })} />`;
  };
  return html`<main class="pane" data-pane data-testid="channel" data-channel=${channel.id}>
    <header class="pane-head"><h2>${title}</h2></header>
    <${Log} label=${`Messages in ${title}`} mark=${state.rev} place=${channel.id}>
      ${shown.length === 0 && channel.member && html`<p class="empty">
        ${`Nothing here yet. Write to @${state.bot.name} to begin.`}</p>`}
      ${shown.map(row)}
      <${Examples} bot=${state.bot} examples=${examples}
        choose=${(text) => write("/ui/message", { text: `<@${state.bot.id}> ${text}` }).catch(trouble)} />
    <//>
    ${channel.member
      ? html`<${Composer} where=${`${state.me.id}/${channel.id}`} placeholder=${`Message ${title}`}
          people=${addressees(state)} commands=${state.commands} send=${write} focused />`
      : html`<p class="not-member" role="note">${`${state.me.name} is not a member of ${title}.`}</p>`}
  </main>`;
}

/** Messages to begin with, each sent by a click. */
function Examples({ bot, examples, choose }) {
  if (examples.length === 0) return null;
  return html`<section class="examples" aria-label="Examples" data-testid="examples">
    <p>Write below, or try one of these:</p>
    ${examples.map((text) => html`<button type="button" class="button" key=${text} onClick=${() => choose(text)}>
      ${`@${bot.name} ${text}`}</button>`)}
  </section>`;
}

export function Thread({ ts, state, send, go, trouble, channel }) {
  const all = inOrder(state.messages[channel.id] ?? []);
  const shown = all.filter((message) => message.ts === ts || message.thread_ts === ts);
  const replies = shown.filter(isCounted).length;
  const row = (message, i) => html`
    <${Message} key=${message.ts} message=${message} channel=${channel.id} send=${send} onTrouble=${trouble}
      follows=${i > 1 && followsOn(message, shown[i - 1])} />
    ${message.ts === ts && replies > 0 && html`<div class="day reply-count" key="count">
      <span>${countReplies(replies)}</span></div>`}`;
  return html`<aside class="pane thread" data-pane data-testid="thread" data-thread=${ts} aria-label="Thread">
    <header class="pane-head"><h2>Thread</h2><span class="where">${titleOf(channel)}</span>
      <button type="button" class="icon-button" aria-label="Close thread" data-testid="thread-close"
        onClick=${() => go({ thread: null })}>✕</button></header>
    <${Log} label="Thread" mark=${state.rev} place=${ts}>${shown.map(row)}<//>
    <${Status} status=${shown.some(isWriting) ? "processing" : statusOf(state, channel.id, ts)}
      stop=${() => send("/ui/stop", { channel: channel.id, thread_ts: ts }).catch(trouble)} />
    ${channel.member && html`<${Composer} where=${`${state.me.id}/${channel.id}/${ts}`} inThread placeholder="Reply…"
      people=${addressees(state)} commands=${state.commands}
      send=${(path, body) => send(path, { channel: channel.id, thread_ts: ts, ...body })} />`}
  </aside>`;
}

function Status({ status, stop }) {
  if (!status) return null;
  return html`<p class=${`status ${status}`} role="status" data-testid="status">${STATUS[status]}
    ${status === "processing" && html`<button type="button" class="button" data-testid="stop"
      onClick=${stop}>Stop</button>`}</p>`;
}

export function Home({ state, send, go, trouble }) {
  const [typed, setTyped] = useState({});
  const direct = state.channels.find((channel) => channel.is_im);
  const act = (action) => send("/ui/action", { view_id: state.home_id, ...action }).catch(trouble);
  return html`<main class="pane" data-pane data-testid="home">
    <header class="pane-head"><h2>${state.bot.name}</h2>
      <span class="tabs"><span aria-current="page">Home</span>
        ${direct && html`<button type="button"
          onClick=${() => go({ channel: direct.id, thread: null })}>Messages</button>`}</span></header>
    <div class="log home">
      ${state.home
        ? html`<${SurfaceProvider} id=${HOME} blocks=${state.home} typed=${typed} setTyped=${setTyped} send=${act}>
            <${Blocks} blocks=${state.home} /><//>`
        : html`<p class="empty">${`${state.bot.name} has not published its Home for ${state.me.name} yet.`}</p>`}
    </div>
  </main>`;
}
