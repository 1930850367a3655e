// Messages as a channel or a thread shows them: who, when, what, and how to answer.
import { html, useContext, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.module.js";
import { Blocks } from "./blocks.js";
import { SurfaceProvider } from "./surface.js";
import { Emoji, Mrkdwn, Names, formatDate } from "./text.js";

const seconds = (ts) => Number.parseFloat(ts);
const initials = (name) => name.split(/\s+/).map((word) => [...word][0]).join("").slice(0, 2).toUpperCase();
const hue = (id) => [...id].reduce((sum, char) => (sum * 31 + char.codePointAt(0)) % 997, 7) % 6;

export const countReplies = (count) => (count === 1 ? "1 reply" : `${count} replies`);

export function Avatar({ id, name, bot }) {
  const look = bot ? "bot" : `hue-${hue(id)}`;
  return html`<span class=${`avatar ${look}`} aria-hidden="true">${bot ? "✓" : initials(name)}</span>`;
}

/**
 * One message with its blocks. `send` posts; `onReply` is absent inside a thread; `follows` is true when the same
 * person just spoke; `status` is what the session in its thread is doing.
 */
export function Message({ message, channel, send, onReply, onTrouble, replies = 0, status, follows }) {
  const act = (action) => send("/ui/action", { channel, ts: message.ts, ...action }).catch(onTrouble);
  const classes = `message ${follows ? "follows" : ""} ${message.ephemeral ? "ephemeral" : ""}`;
  return html`<article class=${classes} data-testid="message" data-ts=${message.ts} data-user=${message.user}
      aria-label=${`Message by ${message.name}`}>
    ${follows ? html`<span class="avatar-gap"><${Time} ts=${message.ts} /></span>`
      : html`<${Avatar} id=${message.user} name=${message.name} bot=${message.is_bot} />`}
    <div class="message-main">
      ${message.ephemeral && html`<p class="only-you">Only visible to you</p>`}
      ${!follows && html`<header><strong>${message.name}</strong>
        ${message.is_bot && html`<span class="badge">APP</span>`}<${Time} ts=${message.ts} /></header>`}
      <${Body} message=${message} act=${act} />
      <${Reactions} of=${message.reactions ?? {}} />
      ${onReply && replies > 0 && html`<button type="button" class="replies" data-testid="open-thread"
        onClick=${onReply}>${countReplies(replies)}<span>View thread</span></button>`}
      ${status && html`<p class="mini-status">${status}</p>`}
    </div>
    ${onReply && !message.ephemeral && html`<button type="button" class="reply" data-testid="reply"
      aria-label="Reply in thread" onClick=${onReply}>↩ Reply</button>`}
  </article>`;
}

/** The blocks where there are any, as in Slack; else the text. */
function Body({ message, act }) {
  const [typed, setTyped] = useState({});
  const blocks = message.blocks ?? [];
  return html`<div class="message-body">
    ${blocks.length === 0 ? html`<${Mrkdwn} text=${message.text} />`
      : html`<${SurfaceProvider} id=${message.ts} blocks=${blocks} typed=${typed} setTyped=${setTyped} send=${act}>
          <${Blocks} blocks=${blocks} /><//>`}
    <${Stream} is=${message.stream} />
    ${message.edited && html`<span class="edited">(edited)</span>`}
  </div>`;
}

/** That a message is being written; or, as in Slack, that it never came to its end. */
function Stream({ is }) {
  if (!is) return null;
  if (is === "open") return html`<span class="caret" data-testid="streaming" aria-label="is writing"></span>`;
  return html`<p class="unfinished" data-testid="unfinished">
    ${is === "stopped" ? "Stopped." : "This message was not finished."}</p>`;
}

function Reactions({ of }) {
  const { people } = useContext(Names);
  const who = (users) => users.map((id) => people.get(id) ?? id).join(", ");
  return Object.entries(of).map(([name, users]) => html`<span class="reaction" key=${name} title=${who(users)}>
    <${Emoji} name=${name} /> ${users.length}</span>`);
}

function Time({ ts }) {
  const whole = formatDate(seconds(ts), "{date_long} {time_secs}");
  return html`<time class="time" title=${whole}>${formatDate(seconds(ts), "{time}")}</time>`;
}

/** Same speaker within five minutes, and nothing private between: shown without a second heading. */
export function followsOn(message, before) {
  return Boolean(before) && before.user === message.user && !before.ephemeral && !message.ephemeral
    && seconds(message.ts) - seconds(before.ts) < 300;
}

export const dayOf = (message) => formatDate(seconds(message.ts), "{date_long_pretty}");

/** A scrolling log that stays at its end while the reader is there. `mark` changes with its content. */
export function Log({ label, mark, place, children }) {
  const box = useRef();
  const atEnd = useRef(true);
  useLayoutEffect(() => { atEnd.current = true; }, [place]);
  useLayoutEffect(() => {
    if (atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [mark, place]);
  useLayoutEffect(() => {
    const stay = new ResizeObserver(() => { if (atEnd.current) box.current.scrollTop = box.current.scrollHeight; });
    stay.observe(box.current);
    return () => stay.disconnect();
  }, []);
  const look = ({ target }) => { atEnd.current = target.scrollHeight - target.scrollTop - target.clientHeight < 80; };
  return html`<div class="log" role="log" aria-label=${label} ref=${box} onScroll=${look} tabindex="0">
    ${children}</div>`;
}
