// Block Kit drawn from its JSON. What we do not know, or cannot draw, is shown as the JSON it is.
import { html, useContext, useErrorBoundary } from "./vendor/htm-preact.module.js";
import { Element, isElement } from "./fields.js";
import { Markdown } from "./markdown.js";
import { useSurface } from "./surface.js";
import { Emoji, Link, Names, Text, channel, formatDate, group, mention, words } from "./text.js";

const BLOCKS = {
  header: Header, section: Section, context: Context, actions: Actions, context_actions: Actions, divider: Divider,
  image: Picture, input: Input, rich_text: RichText, markdown: MarkdownBlock, plan: Plan, task_card: Task, alert: Alert,
  table: Table,
};

export function Blocks({ blocks }) {
  const drawn = blocks.map((block, i) => html`<${Block} key=${block?.block_id ?? i} block=${block} />`);
  return html`<div class="blocks">${drawn}</div>`;
}

function Block({ block }) {
  const [error] = useErrorBoundary();
  const known = !error && Object.hasOwn(BLOCKS, block?.type ?? "");
  const Kind = known ? BLOCKS[block.type] : Unknown;
  return html`<div class=${`block block-${known ? block.type : "unknown"}`} data-block-id=${block?.block_id}
                   data-block-type=${block?.type}><${Kind} block=${block} of=${block} /></div>`;
}

function Unknown({ of }) {
  return html`<pre class="unknown" aria-label="A block this page cannot draw">${JSON.stringify(of, null, 2)}</pre>`;
}

const Part = ({ element, block, field }) =>
  isElement(element) ? html`<${Element} element=${element} block=${block} field=${field} />`
    : element?.type === "image" ? html`<${Image} of=${element} />` : html`<${Unknown} of=${element} />`;

function Header({ block }) {
  return html`<h3><${Text} of=${block.text} /></h3>`;
}

function Section({ block }) {
  return html`<div class="section-text">
      ${block.text && html`<${Text} of=${block.text} />`}
      ${block.fields && html`<div class="section-fields">
        ${block.fields.map((field) => html`<div class="section-field"><${Text} of=${field} /></div>`)}
      </div>`}
    </div>
    ${block.accessory && html`<div class="accessory"><${Part} element=${block.accessory} block=${block} /></div>`}`;
}

function Context({ block }) {
  return block.elements.map((element) =>
    element.type === "image" ? html`<${Image} of=${element} />` : html`<${Text} of=${element} />`);
}

function Actions({ block }) {
  return block.elements.map((element) => html`<${Part} key=${element.action_id} element=${element} block=${block} />`);
}

function Divider() {
  return html`<hr />`;
}

function Picture({ block }) {
  const title = block.title && html`<figcaption><${Text} of=${block.title} /></figcaption>`;
  return html`<figure>${title}<${Image} of=${block} /></figure>`;
}

/** Only pictures that come with the message or from this page's own origin: no request leaves it. */
function Image({ of }) {
  const source = String(of.image_url ?? "");
  const ours = /^data:image\//.test(source) || URL.parse?.(source, location.href)?.origin === location.origin;
  return ours ? html`<img src=${source} alt=${of.alt_text ?? ""} />`
    : html`<span class="no-image">Picture not loaded: ${of.alt_text ?? source}</span>`;
}

function Input({ block }) {
  const { id: surfaceId, errors } = useSurface();
  const error = Object.hasOwn(errors, block.block_id) ? errors[block.block_id] : null;
  const id = `${surfaceId}-${block.block_id}`;
  const describedBy = [block.hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ") || undefined;
  return html`<label class="input-label" for=${id}><${Text} of=${block.label} />
      ${block.optional && html`<span class="optional"> (optional)</span>`}</label>
    <${Part} element=${block.element} block=${block} field=${{ id, error, describedBy }} />
    ${error && html`<p class="field-error" id=${`${id}-error`} role="alert"
      data-testid="field-error">${String(error)}</p>`}
    ${block.hint && html`<p class="hint" id=${`${id}-hint`}><${Text} of=${block.hint} /></p>`}`;
}

function RichText({ block }) {
  return block.elements.map((part) => html`<${RichPart} part=${part} />`);
}

function RichPart({ part }) {
  const names = useContext(Names);
  const content = () => part.elements.map((piece) => richInline(piece, names));
  if (part.type === "rich_text_section") return html`<p>${content()}</p>`;
  if (part.type === "rich_text_quote") return html`<blockquote>${content()}</blockquote>`;
  if (part.type === "rich_text_preformatted") return html`<${Preformatted} part=${part}>${content()}<//>`;
  if (part.type !== "rich_text_list") return html`<${Unknown} of=${part} />`;
  const items = part.elements.map((item) => html`<li>${item.elements.map((piece) => richInline(piece, names))}</li>`);
  const indent = `indent-${Math.min(Number(part.indent) || 0, 8)}`;
  if (part.style !== "ordered") return html`<ul class=${indent}>${items}</ul>`;
  return html`<ol class=${indent} start=${(part.offset ?? 0) + 1}>${items}</ol>`;
}

/** Preformatted text; with `language: "diff"` its added and removed lines are coloured. */
function Preformatted({ part, children }) {
  if (part.language !== "diff") return html`<pre data-language=${part.language}>${children}</pre>`;
  const lines = part.elements.map((piece) => piece.text ?? "").join("").split("\n");
  const kind = (line) => (/^(\+\+\+|---|@@)/.test(line) ? "meta" : { "+": "added", "-": "removed" }[line[0]] ?? "");
  const drawn = lines.map((line) => html`<span class=${kind(line)}>${`${line}\n`}</span>`);
  return html`<pre class="diff" data-language="diff">${drawn}</pre>`;
}

const RICH = {
  text: (piece) => String(piece.text ?? ""),
  link: (piece) => html`<${Link} to=${piece.url}>${piece.text ?? piece.url}<//>`,
  user: (piece, names) => mention(piece.user_id, "", names),
  channel: (piece, names) => channel(piece.channel_id, "", names),
  usergroup: (piece, names) => group(piece.usergroup_id, "", names),
  broadcast: (piece) => html`<span class="mention loud">@${piece.range}</span>`,
  emoji: (piece) => html`<${Emoji} name=${piece.name} unicode=${piece.unicode} />`,
  date: (piece) => html`<time title=${piece.fallback}>
    ${formatDate(piece.timestamp, piece.format ?? "{date_num}") ?? piece.fallback}</time>`,
  color: (piece) => html`<code>${piece.value}</code>`,
};

function richInline(piece, names) {
  if (!Object.hasOwn(RICH, piece?.type ?? "")) return html`<code class="unknown">${JSON.stringify(piece)}</code>`;
  const { bold, italic, strike, code, underline } = piece.style ?? {};
  let drawn = RICH[piece.type](piece, names);
  if (code) drawn = html`<code>${drawn}</code>`;
  if (strike) drawn = html`<s>${drawn}</s>`;
  if (underline) drawn = html`<u>${drawn}</u>`;
  if (italic) drawn = html`<em>${drawn}</em>`;
  return bold ? html`<strong>${drawn}</strong>` : drawn;
}

function MarkdownBlock({ block }) {
  return html`<${Markdown} text=${block.text} />`;
}

const STATUS = {
  pending: ["○", "Waiting"], in_progress: ["◔", "In progress"], complete: ["✓", "Done"], error: ["!", "Failed"],
};

function Plan({ block }) {
  const done = block.tasks.filter((task) => task.status === "complete").length;
  const tasks = block.tasks.map((task) => html`<li key=${task.task_id}><${Task} block=${task} /></li>`);
  return html`
    <div class="plan-title"><strong>${words(block.title)}</strong><span>${done} of ${tasks.length}</span></div>
    <ol class="plan-tasks">${tasks}</ol>`;
}

function Task({ block }) {
  const [sign, meaning] = STATUS[block.status] ?? ["?", String(block.status)];
  const more = [block.details, block.output].filter(Boolean);
  const title = html`<span class=${`task-sign ${block.status}`} role="img" aria-label=${meaning}>${sign}</span>
    <span class="task-title">${words(block.title)}</span>`;
  if (more.length === 0 && !block.sources) return html`<div class="task" data-task-id=${block.task_id}>${title}</div>`;
  return html`<details class="task" data-task-id=${block.task_id}><summary>${title}</summary>
    ${more.map((part) => html`<${RichText} block=${part} />`)}
    ${block.sources?.map((source) => html`<p><${Link} to=${source.url}>${words(source.text) || source.url}<//></p>`)}
  </details>`;
}

function Alert({ block }) {
  const role = block.level === "error" ? "alert" : "note";
  return html`<div class=${`alert ${block.level ?? "default"}`} role=${role}><${Text} of=${block.text} /></div>`;
}

function Table({ block }) {
  const align = (i) => `align-${block.column_settings?.[i]?.align ?? "left"}`;
  const cell = (of) =>
    of?.type === "rich_text" ? html`<${RichText} block=${of} />` : words(of?.text ?? of?.value);
  const row = (cells, Tag) => html`<tr>${cells.map((of, i) => html`<${Tag} class=${align(i)}>${cell(of)}<//>`)}</tr>`;
  const [head, ...body] = block.rows;
  return html`<div class="table-scroll"><table>
    <thead>${row(head, "th")}</thead><tbody>${body.map((cells) => row(cells, "td"))}</tbody>
  </table></div>`;
}
