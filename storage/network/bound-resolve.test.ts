import { expect, it, vi } from "vitest";
import { boundResolve } from "./bound-resolve.ts";

const BOUNDS = { answerMs: 5_000, mostAtOnce: 2 };

/** A resolver whose lookups end when the test says so. */
function heldResolver() {
  const asked: string[] = [];
  const ends = new Map<string, () => void>();
  const resolve = boundResolve((host) => {
    asked.push(host);
    return new Promise((done) => ends.set(host, () => done([`address of ${host}`])));
  }, BOUNDS);
  return { asked, resolve, end: (host: string) => ends.get(host)?.() };
}

it("shares one lookup among callers that ask for a name at the same time, and looks again afterwards", async () => {
  const { asked, resolve, end } = heldResolver();
  const both = [resolve("a"), resolve("a")];
  end("a");
  expect(await Promise.all(both)).toEqual([["address of a"], ["address of a"]]);
  const again = resolve("a");
  end("a");
  await again;
  expect(asked).toEqual(["a", "a"]);
});

it("runs only so many lookups at once, the others in their order", async () => {
  const { asked, resolve, end } = heldResolver();
  const all = Promise.all(["a", "b", "c", "d"].map((host) => resolve(host)));
  expect(asked).toEqual(["a", "b"]);
  end("b");
  await vi.waitUntil(() => asked.length === 3);
  end("a");
  await vi.waitUntil(() => asked.length === 4);
  expect(asked).toEqual(["a", "b", "c", "d"]);
  end("c");
  end("d");
  expect(await all).toHaveLength(4);
});

it("rejects a caller that waited too long, and passes errors of the resolver on", async () => {
  vi.useFakeTimers();
  try {
    const { resolve } = heldResolver();
    const late = resolve("a");
    const rejected = expect(late).rejects.toMatchObject({ code: "EAI_AGAIN" });
    await vi.advanceTimersByTimeAsync(BOUNDS.answerMs);
    await rejected;
  } finally {
    vi.useRealTimers();
  }
  const failing = boundResolve(() => Promise.reject(new Error("no such name")), BOUNDS);
  await expect(failing("a")).rejects.toThrow("no such name");
  await expect(failing("a")).rejects.toThrow("no such name");
});

it("leaves out a lookup for which no caller waits any more", async () => {
  vi.useFakeTimers();
  try {
    const { asked, resolve, end } = heldResolver();
    const late = ["a", "b", "c"].map((host) => resolve(host));
    const rejected = Promise.all(late.map((one) => expect(one).rejects.toMatchObject({ code: "EAI_AGAIN" })));
    await vi.advanceTimersByTimeAsync(BOUNDS.answerMs);
    await rejected;
    const next = resolve("d");
    end("a");
    await vi.advanceTimersByTimeAsync(0);
    end("d");
    expect(await next).toEqual(["address of d"]);
    expect(asked).toEqual(["a", "b", "d"]);
  } finally {
    vi.useRealTimers();
  }
});

it("lets names that were late wait for each other, and not the others for them", async () => {
  vi.useFakeTimers();
  try {
    const { asked, resolve, end } = heldResolver();
    const hung = ["x", "y"].map((host) => resolve(host));
    const rejected = Promise.all(hung.map((one) => expect(one).rejects.toMatchObject({ code: "EAI_AGAIN" })));
    await vi.advanceTimersByTimeAsync(BOUNDS.answerMs + 1);
    await rejected;
    end("x");
    end("y");
    await vi.advanceTimersByTimeAsync(0);
    const again = ["x", "y"].map((host) => resolve(host));
    const next = resolve("a");
    expect(asked).toEqual(["x", "y", "x", "a"]);
    end("a");
    expect(await next).toEqual(["address of a"]);
    end("x");
    await vi.waitUntil(() => asked.length === 5);
    end("y");
    expect(await Promise.all(again)).toHaveLength(2);
    const usual = ["x", "y"].map((host) => resolve(host));
    expect(asked.slice(5)).toEqual(["x", "y"]);
    end("x");
    end("y");
    await Promise.all(usual);
  } finally {
    vi.useRealTimers();
  }
});
