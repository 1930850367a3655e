// A client from another SDK: lists the tools of servers, of all at once, and calls some. In: the folder
// node_modules, then by the server's name {command, args, cwd, calls: [[tool, arguments], …]} as JSON. Out: by the same
// names {tools: […], answers: [{isError, text}, …]} as JSON.
const [, , modules, asked] = process.argv;
const home = `${modules}/@modelcontextprotocol/client/dist`;
const { Client } = await import(`${home}/index.mjs`);
const { StdioClientTransport } = await import(`${home}/stdio.mjs`);

async function answersOf({ command, args, cwd, calls }) {
  const client = new Client({ name: "other", version: "1" });
  await client.connect(new StdioClientTransport({ command, args, cwd }));
  const { tools } = await client.listTools();
  const answers = [];
  for (const [name, given] of calls) {
    const { isError, content } = await client.callTool({ name, arguments: given });
    answers.push({ isError: isError === true, text: content.map((part) => part.text ?? "").join("\n") });
  }
  await client.close();
  return { tools: tools.map((tool) => tool.name), answers };
}

const servers = Object.entries(JSON.parse(asked));
const found = await Promise.all(servers.map(async ([name, one]) => [name, await answersOf(one)]));
console.log(JSON.stringify(Object.fromEntries(found)));
