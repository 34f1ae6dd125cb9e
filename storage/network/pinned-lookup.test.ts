import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createAgentFetch } from "./agent-fetch.ts";
import { classOf } from "./address-rules.ts";
import { pinHost, pinnedLookup, type Resolve } from "./pinned-lookup.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** A server on loopback that counts who comes. */
async function listen(answer: Parameters<typeof createServer>[1]) {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    answer?.(request, response);
  }).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, seen };
}

const whyRefused = (address: string) => (classOf(address) === "never" ? "never" : null);
/** Answers in turn; the last answer stays. */
const inTurn = (...answers: readonly string[][]): Resolve => {
  const rest = [...answers];
  return async () => (rest.length > 1 ? rest.shift() : rest[0]) ?? [];
};
const fetchWith = (resolve: Resolve, limits: { answerMs?: number; mostAnswerBytes?: number } = {}) =>
  createAgentFetch({
    lookup: pinnedLookup(whyRefused, resolve),
    answerMs: 20_000,
    mostAnswerBytes: 1000,
    ...limits,
  });
const fault = (code: string) => expect.objectContaining({ code });

describe("a pinned lookup", () => {
  it("connects to the address it checked", async () => {
    const { port, seen } = await listen((_, response) => response.end("hello"));
    const answer = await fetchWith(inTurn(["127.0.0.1"]))(`http://store.test:${port}/x?y=1`, {
      method: "PUT",
      headers: { "x-test": "1" },
      body: "body",
    });
    expect([answer.status, await answer.text()]).toEqual([200, "hello"]);
    expect(seen[0]).toMatchObject({ method: "PUT", url: "/x?y=1" });
    expect(seen[0]?.headers).toMatchObject({ host: `store.test:${port}`, "x-test": "1", "content-length": "4" });
  });

  it("refuses a name that has become another address since it was checked", async () => {
    const { port, seen } = await listen((_, response) => response.end());
    const rebinding = fetchWith(inTurn(["127.0.0.1"], ["169.254.169.254"]));
    await rebinding(`http://store.test:${port}/`);
    await expect(rebinding(`http://store.test:${port}/`)).rejects.toEqual(fault("ENDPOINT_REFUSED"));
    expect(seen).toHaveLength(1);
  });

  it("refuses a name when one of its addresses is refused, whichever is first", async () => {
    const { port, seen } = await listen((_, response) => response.end());
    for (const answer of [
      ["127.0.0.1", "169.254.169.254"],
      ["169.254.169.254", "127.0.0.1"],
      ["127.0.0.1", "::ffff:a9fe:a9fe"],
    ]) {
      await expect(fetchWith(inTurn(answer))(`http://store.test:${port}/`)).rejects.toEqual(fault("ENDPOINT_REFUSED"));
    }
    expect(seen).toEqual([]);
  });

  it("says nothing of the reason, which is for the log", async () => {
    const error = await fetchWith(inTurn(["169.254.169.254"]))("http://store.test/").catch((one: unknown) => one);
    expect(JSON.stringify(error)).not.toContain("169.254");
    expect(String(error)).not.toMatch(/169\.254|never/);
  });

  it("says of a name without an address that it was not resolved", async () => {
    await expect(fetchWith(inTurn([]))("http://store.test/")).rejects.toEqual(fault("NAME_NOT_RESOLVED"));
  });

  it("refuses an address that is given as such, which no name server is asked about", async () => {
    const refusing = (address: string) => (address === "127.0.0.1" ? "not here" : null);
    const { port, seen } = await listen((_, response) => response.end());
    const [error] = (await once(connect({ port, ...pinHost("127.0.0.1", refusing) }), "error")) as [unknown];
    expect(error).toEqual(fault("ENDPOINT_REFUSED"));
    await once(connect({ port, ...pinHost("127.0.0.1", whyRefused) }), "connect");
    expect(seen).toEqual([]);
  });
});

describe("a request to an address nobody vouched for", () => {
  it("follows no redirect", async () => {
    const inner = await listen((_, response) => response.end("secret"));
    const outer = await listen((_, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${inner.port}/` }).end(),
    );
    const answer = await fetchWith(inTurn(["127.0.0.1"]))(`http://store.test:${outer.port}/`);
    expect(answer.status).toBe(302);
    expect(inner.seen).toEqual([]);
  });

  it("reads an answer up to its limit, and not one that goes on", async () => {
    const { port } = await listen((request, response) => response.end("x".repeat(Number(request.url?.slice(1)))));
    const limited = fetchWith(inTurn(["127.0.0.1"]));
    expect(await (await limited(`http://store.test:${port}/1000`)).text()).toHaveLength(1000);
    await expect(limited(`http://store.test:${port}/1001`)).rejects.toEqual(fault("UNEXPECTED_ANSWER"));
  });

  it("waits for an answer only so long, from its first word to its last", async () => {
    const { port } = await listen((request, response) => {
      if (request.url === "/half") response.write("half");
    });
    const limited = fetchWith(inTurn(["127.0.0.1"]), { answerMs: 50 });
    for (const path of ["silent", "half"]) {
      await expect(limited(`http://store.test:${port}/${path}`), path).rejects.toThrow();
    }
  });
});
