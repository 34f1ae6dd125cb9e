import { expect, test } from "vitest";
import { systemClock } from "../base/clock.ts";
import type { Hub } from "./hub.ts";
import { listen, type Listening } from "./stream.ts";

/** A hub whose stream stays open until it is left. */
function createTrial() {
  const streams: { unsubscribed: boolean }[] = [];
  const openStream: Hub["openStream"] = () => {
    const stream = { unsubscribed: false };
    streams.push(stream);
    return () => {
      stream.unsubscribed = true;
    };
  };
  const hub: Hub = { openStream, isUp: true, ask: () => Promise.reject(new Error("nothing is asked")) };
  const stop = new AbortController();
  const start = (beforeOpen: Listening["beforeOpen"]) =>
    listen({
      hub,
      base: "http://hub.test",
      bootId: "boot-0001",
      clock: systemClock,
      signal: stop.signal,
      withinMs: () => undefined,
      beforeOpen,
      onMessage: () => undefined,
      onLost: () => undefined,
    });
  return { start, stop, streams };
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
