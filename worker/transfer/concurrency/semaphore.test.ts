import { expect, test } from "vitest";
import { createSemaphore, type Wants } from "./semaphore.ts";

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
const { signal } = new AbortController();

/** Work that ends when it is told to. */
function createWork(semaphore: ReturnType<typeof createSemaphore>) {
  const order: string[] = [];
  const ends = new Map<string, () => void>();
  const begin = (name: string, size: Wants["size"], own = signal) =>
    semaphore.run({ signal: own, size }, async () => {
      order.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await settle();
  };
  return { order, begin, end };
}

test("lets as many in as it is wide, the others in their order", async () => {
  const semaphore = createSemaphore(2);
  const { order, begin, end } = createWork(semaphore);
  const all = ["a", "b", "c", "d"].map((name) => begin(name, "large"));
  await settle();
  expect(order).toEqual(["a", "b"]);
  expect(semaphore.waiting).toBe(2);
  await end("b");
  expect(order).toEqual(["a", "b", "c"]);
  for (const name of ["a", "c", "d"]) await end(name);
  await Promise.all(all);
  expect(semaphore.held).toBe(0);
});

test("lets more in at once when it becomes wider, and nobody new while it is too narrow", async () => {
  const semaphore = createSemaphore(1);
  const { order, begin, end } = createWork(semaphore);
  const all = ["a", "b", "c", "d"].map((name) => begin(name, "large"));
  semaphore.setWidth(3);
  await settle();
  expect(order).toEqual(["a", "b", "c"]);
  semaphore.setWidth(1);
  await end("a");
  await end("b");
  expect(order).toEqual(["a", "b", "c"]);
  await end("c");
  expect(order).toEqual(["a", "b", "c", "d"]);
  await end("d");
  await Promise.all(all);
});

test("a small file does not wait behind large ones, whatever they hold", async () => {
  const semaphore = createSemaphore(2);
  const { order, begin, end } = createWork(semaphore);
  const large = Array.from({ length: 50 }, (_, index) => begin(`large ${index}`, "large"));
  await settle();
  const small = begin("small", "small");
  await settle();
  expect(order).toEqual(["large 0", "large 1", "small"]);
  await end("small");
  await small;
  for (let index = 0; index < 50; index++) await end(`large ${index}`);
  await Promise.all(large);
});

test("thousands of small files do not keep a large one from moving", async () => {
  const semaphore = createSemaphore(4);
  const { order, begin, end } = createWork(semaphore);
  const small = Array.from({ length: 100 }, (_, index) => begin(`small ${index}`, "small"));
  const large = begin("large", "large");
  await settle();
  expect(order).not.toContain("large");
  await end("small 0");
  await end("small 1");
  expect(order).toContain("large");
  await end("large");
  for (let index = 0; index < 100; index++) await end(`small ${index}`);
  await Promise.all([...small, large]);
});

test("who gives up while waiting leaves the line", async () => {
  const semaphore = createSemaphore(1);
  const { order, begin, end } = createWork(semaphore);
  const first = begin("first", "large");
  const stop = new AbortController();
  const second = begin("second", "large", stop.signal);
  const third = begin("third", "large");
  await settle();
  stop.abort();
  await expect(second).rejects.toMatchObject({ code: "CANCELLED" });
  await end("first");
  expect(order).toEqual(["first", "third"]);
  await end("third");
  await Promise.all([first, third]);
});

test("while more is to come nothing is the last, however few wait", async () => {
  const semaphore = createSemaphore(2);
  expect(semaphore.isEnding).toBe(true);
  const [first, second] = [semaphore.expectMore(), semaphore.expectMore()];
  first();
  // Said twice it counts once.
  first();
  expect(semaphore.isEnding).toBe(false);
  second();
  expect(semaphore.isEnding).toBe(true);
});
