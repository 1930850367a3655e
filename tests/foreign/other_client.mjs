// A client from another SDK: lists the tools of a server and calls some. In: the folder node_modules, then as JSON
// {command, args, cwd, calls: [[tool, arguments], …]}. Out: {tools: […], answers: [{isError, text}, …]} as JSON.
const [, , modules, asked] = process.argv;
const home = `${modules}/@modelcontextprotocol/client/dist`;
const { Client } = await import(`${home}/index.mjs`);
const { StdioClientTransport } = await import(`${home}/stdio.mjs`);

const { command, args, cwd, calls } = JSON.parse(asked);
const client = new Client({ name: "other", version: "1" });
await client.connect(new StdioClientTransport({ command, args, cwd }));
const { tools } = await client.listTools();
const answers = [];
for (const [name, given] of calls) {
  const { isError, content } = await client.callTool({ name, arguments: given });
  answers.push({ isError: isError === true, text: content.map((part) => part.text ?? "").join("\n") });
}
await client.close();
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), answers }));
