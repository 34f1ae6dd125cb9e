import { createHash } from "node:crypto";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connectHub, type Hub } from "./hub.ts";
import { readCredential, storeCredential, type Held } from "./node-credential.ts";
import { rotateCredential, takeOther } from "./rotate-credential.ts";

/** A hub in small: it knows the hashes of the credentials that are good, and takes new ones. */

const hashOf = (secret: string) => createHash("sha256").update(secret).digest("hex");
const OLD = "tmn_the-old-credential-of-this-node";

let server: Server;
let state: string;
let hub: Hub;
let held: Held;
let good: Set<string>;
/** What becomes of a hash that is offered. */
let onOffer: (hash: string, stored: string | undefined) => Promise<"answer" | "say nothing">;
let heard: string[];

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "tidemark-rotate-"));
  good = new Set([hashOf(OLD)]);
  heard = [];
  onOffer = async (hash) => {
    good.add(hash);
    return "answer";
  };
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      void (async () => {
        const secret = request.headers.authorization?.replace("Bearer ", "") ?? "";
        heard.push(`${request.url?.split("/").at(-1)} ${secret}`);
        const json = { "content-type": "application/json" };
        if (!good.has(hashOf(secret))) {
          const data = { code: "UNAUTHORIZED", httpStatus: 401, fault: { code: "NODE_UNKNOWN" } };
          response.writeHead(401, json).end(JSON.stringify({ error: { code: -32001, message: "", data } }));
          return;
        }
        if (request.url?.includes("node.rotate") === true) {
          const { hash } = JSON.parse(body) as { hash: string };
          if ((await onOffer(hash, (await readCredential(state))?.next)) === "say nothing") {
            request.socket.destroy();
            return;
          }
        }
        response.writeHead(200, json).end(JSON.stringify({ result: { data: { overlapUntil: 1 } } }));
      })();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await storeCredential(state, { hub: base, nodeId: "node-id-1", name: "gpu-1", credential: OLD });
  await restart();
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(state, { recursive: true, force: true });
});

/** The worker as it starts again: what it knows is what lies on its disk. */
async function restart(): Promise<void> {
  held = { credential: await readCredential(state) };
  hub = connectHub(held.credential?.hub ?? "", {
    credential: () => held.credential?.credential ?? null,
    signal: new AbortController().signal,
    takeOther: (used) => takeOther(held, used, state),
  });
}

const goodbye = () => hub.ask("goodbye", (client, signal) => client.node.goodbye.mutate(undefined, { signal }));
const rotate = () => rotateCredential(hub, held, state);

test("the new credential is on the disk before the hub hears of it, and used from then on", async () => {
  let storedAtOffer: string | undefined;
  let offered = "";
  onOffer = async (hash, stored) => {
    [offered, storedAtOffer] = [hash, stored];
    good.add(hash);
    return "answer";
  };
  await rotate();
  expect(hashOf(storedAtOffer ?? "")).toBe(offered);
  await goodbye();
  expect(heard).toEqual([`node.rotate ${OLD}`, `node.goodbye ${storedAtOffer}`]);
  expect(await readCredential(state)).toEqual({ ...held.credential, credential: storedAtOffer });
  expect(held.credential?.next).toBeUndefined();
});

test("the hub never hears the new credential before it is used", async () => {
  let body = "";
  onOffer = async (hash) => {
    body = hash;
    good.add(hash);
    return "answer";
  };
  await rotate();
  expect(body).toMatch(/^[0-9a-f]{64}$/);
  expect(heard.join(" ")).not.toContain(held.credential?.credential ?? "?");
});

test("an answer that was lost leaves the old one in use, and the same new one is offered again", async () => {
  const offers: string[] = [];
  onOffer = async (hash) => {
    offers.push(hash);
    good.add(hash);
    return offers.length === 1 ? "say nothing" : "answer";
  };
  await expect(rotate()).rejects.toMatchObject({ code: "HUB_UNREACHABLE" });
  expect(held.credential?.credential).toBe(OLD);
  await restart();
  await goodbye();
  await rotate();
  expect(offers).toHaveLength(2);
  expect(new Set(offers).size).toBe(1);
  expect(hashOf(held.credential?.credential ?? "")).toBe(offers[0]);
});

test("a node that never heard the answer and comes back when the old one is over goes on with the new one", async () => {
  onOffer = async (hash) => {
    good.add(hash);
    return "say nothing";
  };
  await rotate().catch(() => undefined);
  good.delete(hashOf(OLD));
  await restart();
  await goodbye();
  expect(heard.at(-1)).not.toContain(OLD);
  const stored = await readCredential(state);
  expect([stored?.credential, stored?.next]).toEqual([held.credential?.credential, undefined]);
  expect(good.has(hashOf(stored?.credential ?? ""))).toBe(true);
});

test("a call that was on its way with the old one is made again with the new one", async () => {
  const late = hub.ask("goodbye", async (client, signal) => {
    if (held.credential?.credential === OLD) {
      // Just when it leaves with the old one, the new one takes its place.
      const answer = client.node.goodbye.mutate(undefined, { signal });
      const next = "tmn_the-new-credential-of-this-node";
      good = new Set([hashOf(next)]);
      held.credential = { ...held.credential, credential: next };
      return answer;
    }
    return client.node.goodbye.mutate(undefined, { signal });
  });
  await late;
  expect(heard.length).toBeLessThanOrEqual(2);
  expect(heard.at(-1)).toContain("tmn_the-new");
});

test("a node that the hub does not know at all is told so, after one try", async () => {
  good.clear();
  await expect(goodbye()).rejects.toMatchObject({ code: "NODE_UNKNOWN" });
  expect(heard).toHaveLength(1);
});

test("a new credential that cannot be stored is not offered", async () => {
  await writeFile(join(state, "file"), "");
  const nowhere = join(state, "file", "below");
  await expect(rotateCredential(hub, held, nowhere)).rejects.toMatchObject({ code: "WRITE_FAILED" });
  expect(heard).toEqual([]);
  expect(held.credential?.credential).toBe(OLD);
  expect(await readdir(state)).toContain("node.json");
});
