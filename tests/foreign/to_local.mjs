// GitHub's address is written into its server: with `node --import`, what is meant for it goes to LOCAL_API.
const send = globalThis.fetch;
globalThis.fetch = (url, options) =>
  send(String(url).replace("https://api.github.com", process.env.LOCAL_API), options);
