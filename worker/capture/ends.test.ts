import { expect, test } from "vitest";
import type { Capture } from "./capture.ts";
import { createEnds } from "./ends.ts";

const ended = (id: string, state: Capture["state"] = "done") => ({ id, state }) as Capture;
const never = new AbortController().signal;

test("whoever waits hears of the end, and of no other", async () => {
  const ends = createEnds();
  const [a, b] = [ends.of("a", never), ends.of("a", never)];
  ends.tell(ended("other"));
  ends.tell(ended("a", "superseded"));
  expect((await a).state).toBe("superseded");
  expect((await b).state).toBe("superseded");
});

test("whoever asks a moment too late hears of it all the same, in the state of then", async () => {
  const ends = createEnds();
  const capture = ended("a");
  ends.tell(capture);
  capture.state = "waiting";
  expect((await ends.of("a", never)).state).toBe("done");
});

test("whoever leaves is told nothing", async () => {
  const ends = createEnds();
  const leaving = new AbortController();
  const waiting = ends.of("a", leaving.signal);
  leaving.abort(new Error("left"));
  await expect(waiting).rejects.toThrow("left");
  await expect(ends.of("b", leaving.signal)).rejects.toThrow("left");
  ends.tell(ended("a"));
});
