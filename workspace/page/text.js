// Text as Slack writes it: mrkdwn, plain text, emoji shortcodes and local dates, drawn as text nodes only.
import { createContext, html, useContext } from "./vendor/htm-preact.module.js";
import { EMOJI } from "./emoji.js";

/** What ids stand for: {me, people, channels, groups}, the last three as Map(id -> name). */
export const Names = createContext({ me: "", people: new Map(), channels: new Map(), groups: new Map() });

/** The one decoding that Slack's wire format asks for; once, so `&amp;lt;` stays `&lt;`. */
export const unescape = (text) =>
  text.replace(/&(lt|gt|amp);/g, (_, name) => ({ lt: "<", gt: ">", amp: "&" })[name]);

/** An address a person may safely follow, or null: no script:, no data:, no relative surprise. */
export function safeUrl(address) {
  return /^(https?:\/\/|mailto:|tel:)/i.test(address) ? address : null;
}

/** The address of a message here, opened as the person who follows it; another address as it is. */
function ownMessage(address) {
  if (!address?.startsWith(`${location.origin}/archives/`)) return address;
  const url = new URL(address);
  url.searchParams.set("as", new URLSearchParams(location.search).get("as") ?? "");
  return url.href;
}

/** A link; one with an unsafe address is shown as the text it is. */
export function Link({ to, children }) {
  const href = ownMessage(safeUrl(to));
  if (!href) return html`<span>${children} (${to})</span>`;
  return html`<a href=${href} title=${href} target="_blank" rel="noopener noreferrer nofollow">${children}</a>`;
}

/** A text object ({type, text}) or a bare string, which counts as plain text. */
export function Text({ of }) {
  if (of === null || of === undefined) return null;
  if (typeof of !== "object") return html`<span class="plain">${String(of)}</span>`;
  if (of.type === "mrkdwn") return html`<${Mrkdwn} text=${of.text} verbatim=${of.verbatim} />`;
  const text = String(of.text ?? "");
  return html`<span class="plain">${of.emoji === true ? withEmoji(text) : text}</span>`;
}

/** The bare words of a text object, for labels and titles. */
export const words = (of) => String((typeof of === "object" ? of?.text : of) ?? "");

export function Mrkdwn({ text, verbatim }) {
  const names = useContext(Names);
  const parts = String(text ?? "").split(/```([\s\S]+?)```/);
  return html`<div class="mrkdwn">${parts.map((part, i) =>
    i % 2 ? html`<pre>${unescape(part.replace(/^\n|\n$/g, ""))}</pre>`
      : paragraphs(part, { names, verbatim }, i, parts))}</div>`;
}

function paragraphs(part, context, i, parts) {
  let text = i > 0 ? part.replace(/^\n/, "") : part;
  if (i < parts.length - 1) text = text.replace(/\n$/, "");
  if (!text) return null;
  return quoted(text).map(({ quote, lines }) => {
    const content = inline(lines.join("\n"), context);
    return quote ? html`<blockquote>${content}</blockquote>` : html`<p>${content}</p>`;
  });
}

/** Runs of lines with or without a quote mark; Slack reads `&gt;` at a line's start as one too. */
function quoted(text) {
  const runs = [];
  let toTheEnd = false;
  for (const line of text.split("\n")) {
    const mark = line.match(/^(?:>|&gt;){3}|^(?:>|&gt;) ?/)?.[0];
    const quote = toTheEnd || mark !== undefined;
    const bare = mark !== undefined && !toTheEnd ? line.slice(mark.length) : line;
    toTheEnd ||= /^(?:>|&gt;){3}/.test(line);
    if (runs.at(-1)?.quote !== quote) runs.push({ quote, lines: [] });
    runs.at(-1).lines.push(bare);
  }
  return runs;
}

/** `*bold*` and its like: no blank just inside the marks, no letter or digit just outside. */
function styled(mark, name) {
  const edge = `[\\p{L}\\p{N}${mark}]`;
  return `(?<!${edge})${mark}(?<${name}>[^\\s${mark}](?:[^${mark}\\n]*[^\\s${mark}])?)${mark}(?!${edge})`;
}

const INLINE = new RegExp([
  "<(?<angle>[^<>\\n]+)>",
  "`(?<code>[^`\\n]+)`",
  styled("\\*", "bold"), styled("_", "italic"), styled("~", "strike"),
  ":(?<emoji>[a-z0-9_+'-]+):",
  "(?<url>https?:\\/\\/[^\\s<>]*[^\\s<>.,;:!?)\"'])",
].join("|"), "giu");

function inline(text, context) {
  const out = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    out.push(unescape(text.slice(end, match.index)), token(match, context));
    end = match.index + match[0].length;
  }
  out.push(unescape(text.slice(end)));
  return out;
}

function token({ 0: whole, groups }, context) {
  if (groups.angle) return angle(groups.angle, context);
  if (groups.code) return html`<code>${unescape(groups.code)}</code>`;
  if (groups.bold) return html`<strong>${inline(groups.bold, context)}</strong>`;
  if (groups.italic) return html`<em>${inline(groups.italic, context)}</em>`;
  if (groups.strike) return html`<s>${inline(groups.strike, context)}</s>`;
  if (groups.emoji) return html`<${Emoji} name=${groups.emoji} />`;
  const url = unescape(whole);
  return context.verbatim ? url : html`<${Link} to=${url}>${url}<//>`;
}

/** What stands between `<` and `>`: a mention, a channel, a date, a link; anything else stays as typed. */
export function angle(body, { names }) {
  const bar = body.indexOf("|");
  const target = bar < 0 ? body : body.slice(0, bar);
  const label = bar < 0 ? "" : unescape(body.slice(bar + 1));
  const id = target.slice(1);
  if (target.startsWith("@")) return mention(id, label, names);
  if (target.startsWith("#")) return channel(id, label, names);
  if (target.startsWith("!date^")) return date(target.slice(6), label);
  if (/^!(here|channel|everyone)$/.test(target)) return html`<span class="mention loud">@${id}</span>`;
  if (target.startsWith("!subteam^")) return group(target.slice(9), label, names);
  const url = unescape(target);
  return safeUrl(url) ? html`<${Link} to=${url}>${label || url.replace(/^mailto:/, "")}<//>` : `<${unescape(body)}>`;
}

export function mention(id, label, names) {
  const mine = id === names.me ? " mine" : "";
  return html`<span class=${`mention${mine}`}>@${names.people.get(id) ?? (label || id)}</span>`;
}

export function channel(id, label, names) {
  return html`<span class="mention">#${names.channels.get(id) ?? (label || id)}</span>`;
}

export function group(id, label, names) {
  return html`<span class="mention">${names.groups.has(id) ? `@${names.groups.get(id)}` : label || `@${id}`}</span>`;
}

function date(spec, fallback) {
  const [stamp, format = "", link] = spec.split("^");
  const shown = formatDate(Number(stamp), unescape(format)) ?? fallback;
  const time = html`<time title=${fallback}>${shown}</time>`;
  return link ? html`<${Link} to=${unescape(link)}>${time}<//>` : time;
}

/** Slack's date templates in the reader's own time zone; null when the stamp is no date (seconds). */
export function formatDate(seconds, template) {
  const when = new Date(seconds * 1000);
  if (!Number.isFinite(when.getTime())) return null;
  const pretty = (token, options) => (_, at) => {
    const day = nearDay(when);
    return day && token ? (at === 0 ? day[0].toUpperCase() + day.slice(1) : day) : say(when, options);
  };
  const long = { weekday: "long", year: "numeric", month: "long", day: "numeric" };
  const medium = { year: "numeric", month: "long", day: "numeric" };
  const short = { year: "numeric", month: "short", day: "numeric" };
  return template
    .replace(/\{date_long_pretty\}/g, pretty(true, long)).replace(/\{date_short_pretty\}/g, pretty(true, short))
    .replace(/\{date_pretty\}/g, pretty(true, medium)).replace(/\{date_long\}/g, pretty(false, long))
    .replace(/\{date_short\}/g, pretty(false, short)).replace(/\{date\}/g, pretty(false, medium))
    .replace(/\{date_num\}/g, new Intl.DateTimeFormat("sv-SE").format(when))
    .replace(/\{time_secs\}/g, say(when, { timeStyle: "medium" }))
    .replace(/\{time\}/g, say(when, { timeStyle: "short" }))
    .replace(/\{ago\}/g, ago(when));
}

const say = (when, options) => new Intl.DateTimeFormat("en", options).format(when);

function nearDay(when) {
  const midnight = (d) => new Date(d.getFullYear(), d.getMonth(), d.getDate()).getTime();
  const days = Math.round((midnight(when) - midnight(new Date())) / 86_400_000);
  return { "-1": "yesterday", 0: "today", 1: "tomorrow" }[days];
}

function ago(when) {
  const minutes = Math.round((when - Date.now()) / 60_000);
  const [count, unit] = Math.abs(minutes) < 60 ? [minutes, "minute"]
    : Math.abs(minutes) < 1440 ? [Math.round(minutes / 60), "hour"] : [Math.round(minutes / 1440), "day"];
  return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(count, unit);
}

/** A shortcode we know as its character, any other as typed. */
export function Emoji({ name, unicode }) {
  const char = EMOJI.get(name) ?? fromCodepoints(unicode);
  if (!char) return `:${name}:`;
  return html`<span class="emoji" role="img" aria-label=${name} title=${`:${name}:`}>${char}</span>`;
}

function fromCodepoints(unicode) {
  const points = String(unicode ?? "").split("-").map((hex) => Number.parseInt(hex, 16));
  return points.every((point) => point > 0 && point <= 0x10ffff) ? String.fromCodePoint(...points) : null;
}

const withEmoji = (text) =>
  text.split(/:([a-z0-9_+'-]+):/i).map((part, i) => (i % 2 ? html`<${Emoji} name=${part} />` : part));
