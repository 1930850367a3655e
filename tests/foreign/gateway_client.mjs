// A client from another SDK at the MCP gateway. In: the folder node_modules, then as JSON {url, token, legacy, elicits,
// calls: [[tool, arguments, hold], …]}. Out, a line of JSON each: {url} that it is asked to open, {answer} to each call.
const [, , modules, asked] = process.argv;
const { Client, StreamableHTTPClientTransport } = await import(
  `${modules}/@modelcontextprotocol/client/dist/index.mjs`
);

const { url, token, legacy, elicits, calls } = JSON.parse(asked);
const say = (found) => console.log(JSON.stringify(found));
const client = new Client(
  { name: "other", version: "1" },
  {
    capabilities: elicits ? { elicitation: { url: {} } } : {},
    versionNegotiation: { mode: legacy ? "legacy" : "auto" },
  },
);
if (elicits) {
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    say({ url: params.url });
    return { action: "accept" };
  });
}
const headers = { Authorization: `Bearer ${token}` };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
let ticket = "";
for (const [name, given, hold] of calls) {
  const _meta = hold === null ? {} : { "dev.countersign/gate": { hold } };
  const asks = name === "gate_result" ? { ticket } : given;
  const answer = await client.callTool({ name, arguments: asks, _meta });
  ticket = answer.structuredContent?.ticket ?? ticket;
  say({ answer: { isError: answer.isError === true, text: answer.content.map((part) => part.text ?? "").join("\n") } });
}
await client.close();
