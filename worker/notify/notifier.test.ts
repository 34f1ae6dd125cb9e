import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { AlertMessage } from "#protocol/alerts/alert-views.ts";
import type { Fault } from "#protocol/faults/fault.ts";
import type { Clock } from "../base/clock.ts";
import { systemClock } from "../base/clock.ts";
import { createNotifier } from "./notifier.ts";
import { readNotify } from "./read-notify.ts";

const heard: { body: AlertMessage & { id: string }; headers: IncomingHttpHeaders }[] = [];
/** Answers of the receiver in turn; 204 from then on. */
let statuses: number[] = [];
let server: Server;
let url: string;
beforeEach(async () => {
  heard.length = 0;
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      heard.push({ body: JSON.parse(Buffer.concat(chunks).toString()) as never, headers: request.headers });
      response.writeHead(statuses.shift() ?? 204).end();
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
});
afterEach(() => new Promise((done) => server.close(done)));

const message = (title: string): AlertMessage => ({
  kind: "firing",
  severity: "critical",
  rule: "not-safe llama gpu-1",
  title,
  lines: [],
  todo: "",
  link: "",
  at: 1,
  count: 1,
  alerts: [],
});

function open(key: string | null = null) {
  const waits: number[] = [];
  const troubles: Fault[] = [];
  const clock: Clock = {
    ...systemClock,
    sleep: (ms) => {
      waits.push(ms);
      return Promise.resolve();
    },
  };
  const channel = readNotify(url, key);
  const signal = new AbortController().signal;
  const notifier = createNotifier({ channel, clock, signal, onTrouble: (fault) => void troubles.push(fault) });
  return { notifier, waits, troubles };
}
const titles = () => heard.map(({ body }) => body.title);

it("sends messages in their order, and tries again what may succeed, under the same id", async () => {
  statuses = [503, 429];
  const { notifier, waits, troubles } = open();
  notifier.send(message("one"));
  notifier.send(message("two"));
  await notifier.idle();
  expect(titles()).toEqual(["one", "one", "one", "two"]);
  expect(new Set(heard.slice(0, 3).map(({ body }) => body.id)).size).toBe(1);
  expect(waits).toEqual([2_000, 4_000]);
  expect(troubles.map(({ code }) => code)).toEqual(["CHANNEL_UNREACHABLE"]);
});

it("gives up what is refused, says so without the address, and goes on with the next", async () => {
  statuses = [404];
  const { notifier, troubles } = open();
  notifier.send(message("one"));
  notifier.send(message("two"));
  await notifier.idle();
  expect(titles()).toEqual(["one", "two"]);
  expect(troubles.map((fault) => JSON.stringify(fault.toData()))).toEqual([
    expect.stringMatching(/CHANNEL_REFUSED.*HTTP 404/) as string,
  ]);
  expect(JSON.stringify(troubles[0]?.toData())).not.toContain("/hook");
});

it("signs a webhook with its key alone", async () => {
  const { notifier } = open("a key of 16 and more".replaceAll(" ", "-"));
  notifier.send(message("signed"));
  await notifier.idle();
  const plain = open();
  plain.notifier.send(message("plain"));
  await plain.notifier.idle();
  expect(heard.map(({ headers }) => headers["webhook-signature"] !== undefined)).toEqual([true, false]);
});
