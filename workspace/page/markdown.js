// The `markdown` block: the everyday part of Markdown (headings, lists, quotes, fences, inline marks and links).
import { html, useContext } from "./vendor/htm-preact.module.js";
import { Emoji, Link, Names, angle, unescape } from "./text.js";

const INLINE = new RegExp([
  "<(?<angle>[@#!][^<>\\n]+)>",
  "`(?<code>[^`\\n]+)`",
  "\\*\\*(?<bold>[^\\s*](?:[^\\n*]*[^\\s*])?)\\*\\*",
  "(?<![\\p{L}\\p{N}*])\\*(?<star>[^\\s*](?:[^\\n*]*[^\\s*])?)\\*",
  "(?<![\\p{L}\\p{N}_])_(?<under>[^\\s_](?:[^\\n_]*[^\\s_])?)_(?![\\p{L}\\p{N}_])",
  "~~(?<strike>[^\\n~]+)~~",
  "!?\\[(?<label>[^\\[\\]\\n]*)\\]\\((?<to>[^()\\s]+)\\)",
  ":(?<emoji>[a-z0-9_+'-]+):",
].join("|"), "gu");

function inline(text, names) {
  const out = [];
  let end = 0;
  for (const { 0: whole, groups: g, index } of text.matchAll(INLINE)) {
    out.push(unescape(text.slice(end, index)));
    if (g.angle) out.push(angle(g.angle, { names }));
    else if (g.code) out.push(html`<code>${unescape(g.code)}</code>`);
    else if (g.bold) out.push(html`<strong>${inline(g.bold, names)}</strong>`);
    else if (g.star || g.under) out.push(html`<em>${inline(g.star || g.under, names)}</em>`);
    else if (g.strike) out.push(html`<s>${inline(g.strike, names)}</s>`);
    else if (g.to) out.push(html`<${Link} to=${unescape(g.to)}>${unescape(g.label) || g.to}<//>`);
    else out.push(html`<${Emoji} name=${g.emoji} />`);
    end = index + whole.length;
  }
  return [...out, unescape(text.slice(end))];
}

const KINDS = [
  ["heading", /^#{1,6}\s+/], ["quote", /^>\s?/], ["ul", /^\s*[-*+]\s+/], ["ol", /^\s*\d+[.)]\s+/],
  ["rule", /^(?:---+|\*\*\*+)$/],
];

/** Neighbouring lines of one kind become one run; a heading or a rule stands alone. */
function runs(text) {
  const out = [];
  for (const line of text.split("\n")) {
    const [kind, mark] = KINDS.find(([, pattern]) => pattern.test(line)) ?? [line.trim() ? "p" : "gap", /^/];
    if (out.at(-1)?.kind !== kind || kind === "heading" || kind === "rule") out.push({ kind, lines: [] });
    out.at(-1).lines.push(line.replace(mark, ""));
  }
  return out;
}

const DRAW = {
  heading: (lines) => html`<h4>${lines}</h4>`,
  quote: (lines) => html`<blockquote>${lines.map((line) => [line, "\n"])}</blockquote>`,
  ul: (lines) => html`<ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`,
  ol: (lines) => html`<ol>${lines.map((line) => html`<li>${line}</li>`)}</ol>`,
  rule: () => html`<hr />`,
  p: (lines) => html`<p>${lines.map((line, i) => [i ? "\n" : "", line])}</p>`,
  gap: () => null,
};

export function Markdown({ text }) {
  const names = useContext(Names);
  const parts = String(text ?? "").split(/^```[^\n]*\n([\s\S]*?)^```\s*$/m);
  return html`<div class="mrkdwn markdown">${parts.map((part, i) =>
    i % 2 ? html`<pre>${unescape(part.replace(/\n$/, ""))}</pre>`
      : runs(part).map(({ kind, lines }) => DRAW[kind](lines.map((line) => inline(line, names))))
  )}</div>`;
}
