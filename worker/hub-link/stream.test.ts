import { expect, test } from "vitest";
import { systemClock } from "../base/clock.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { Hub, StreamHandlers } from "./hub.ts";
import { listen, type Listening } from "./stream.ts";

/** A hub whose stream stays open until it is left. `onOpen` may end it before. */
function createTrial(onOpen: (told: StreamHandlers, count: number) => void = () => undefined) {
  const streams: { unsubscribed: boolean }[] = [];
  const openStream: Hub["openStream"] = (_, told) => {
    const stream = { unsubscribed: false };
    const count = streams.push(stream);
    queueMicrotask(() => onOpen(told, count));
    return () => {
      if (stream.unsubscribed) return;
      stream.unsubscribed = true;
      told.onComplete();
    };
  };
  const lost: unknown[] = [];
  const refused: Fault[] = [];
  const hub: Hub = {
    openStream,
    isUp: true,
    describe: () => "",
    otherWriters: () => [],
    ask: () => Promise.reject(new Error("nothing is asked")),
  };
  const stop = new AbortController();
  const start = (beforeOpen: Listening["beforeOpen"]) =>
    listen({
      hub,
      base: "http://hub.test",
      bootId: "boot-0001",
      clock: systemClock,
      signal: stop.signal,
      withinMs: () => 1,
      beforeOpen,
      onMessage: () => undefined,
      onLost: (error) => lost.push(error),
      onRefused: (fault) => refused.push(fault),
    });
  return { start, stop, streams, lost, refused };
}

test("it leaves the stream when the signal fires", async () => {
  const { start, stop, streams } = createTrial();
  const listening = start(() => Promise.resolve());
  while (streams.length === 0) await systemClock.sleep(1);
  stop.abort();
  await listening;
  expect(streams).toEqual([{ unsubscribed: true }]);
});

test("a signal that fires while hello is said opens no stream that nobody would leave", async () => {
  const { start, stop, streams } = createTrial();
  await start(() => {
    stop.abort();
    return Promise.resolve();
  });
  expect(streams).toEqual([]);
});

const refusal = new Fault("HUB_UNREACHABLE", { detail: "HTTP 503" });

test("a stream that is refused again and again is reported, although hello succeeds", async () => {
  const { start, stop, refused, lost } = createTrial((told, count) => {
    if (count <= 3) told.onError(refusal);
    else stop.abort();
  });
  await start(() => Promise.resolve());
  expect(refused.map(({ code, context }) => [code, context.detail])).toEqual(
    Array.from({ length: 2 }, () => [
      "HUB_UNREACHABLE",
      "the live stream does not open, although other calls are answered: HTTP 503",
    ]),
  );
  expect(lost).toEqual([]);
});

test("an open stream that breaks is not reported while hello succeeds, and as lost once it fails", async () => {
  const { start, stop, streams, refused, lost } = createTrial((told) => {
    told.onConnectionStateChange({ state: "pending", error: null });
    told.onConnectionStateChange({ state: "connecting", error: refusal });
  });
  const away = new Fault("HUB_UNREACHABLE");
  await start(async () => {
    if (streams.length < 3) return;
    if (lost.length === 1) stop.abort();
    throw away;
  });
  expect(refused).toEqual([]);
  expect(lost).toEqual([away]);
});

test("a stream that the hub rejects altogether ends the listening", async () => {
  const { start } = createTrial((told) => told.onError(new Fault("NODE_REVOKED")));
  await expect(start(() => Promise.resolve())).rejects.toMatchObject({ code: "NODE_REVOKED" });
});
