import { describe, expect, it } from "vitest";
import { createFairQueue, type FairQueue } from "./fair-queue.ts";

const LIMITS = { atOnce: 2, atOnceEach: 1, waiting: 6, waitingEach: 3 };

/** Lets everything run that can. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Tasks that end when they are told to, and the order in which they began. */
function createTasks(queue: FairQueue) {
  const began: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    began,
    ask: (caller: string, name: string): Promise<string> =>
      queue.run(caller, async () => {
        began.push(name);
        const { promise, resolve } = Promise.withResolvers<undefined>();
        ends.set(name, () => resolve(undefined));
        await promise;
        return name;
      }),
    end: (name: string) => ends.get(name)?.(),
  };
}

describe("a fair queue", () => {
  it("runs one task of a caller at a time, and another caller beside it", async () => {
    const { began, ask, end } = createTasks(createFairQueue(LIMITS));
    const all = [ask("a", "a1"), ask("a", "a2"), ask("b", "b1")];
    await settle();
    expect(began).toEqual(["a1", "b1"]);
    end("a1");
    expect(await all[0]).toBe("a1");
    await settle();
    expect(began).toEqual(["a1", "b1", "a2"]);
    end("a2");
    end("b1");
    await Promise.all(all);
  });

  it("lets callers take turns, whoever asked more", async () => {
    const { began, ask, end } = createTasks(createFairQueue({ ...LIMITS, atOnce: 1 }));
    const all = [ask("a", "a1"), ask("a", "a2"), ask("a", "a3"), ask("b", "b1")];
    for (const name of ["a1", "b1", "a2", "a3"]) {
      await settle();
      expect(began.at(-1)).toBe(name);
      end(name);
    }
    await Promise.all(all);
    expect(began).toEqual(["a1", "b1", "a2", "a3"]);
  });

  it("refuses what one caller asks for too often, and nobody else", async () => {
    const { ask, end } = createTasks(createFairQueue(LIMITS));
    const all = [ask("a", "a1"), ask("a", "a2"), ask("a", "a3"), ask("a", "a4")];
    await expect(ask("a", "a5")).rejects.toMatchObject({ code: "TOO_MANY_TRIES" });
    const other = ask("b", "b1");
    await settle();
    end("b1");
    expect(await other).toBe("b1");
    for (const name of ["a1", "a2", "a3", "a4"]) {
      end(name);
      await settle();
    }
    expect(await Promise.all(all)).toEqual(["a1", "a2", "a3", "a4"]);
  });

  it("keeps no place in the order for a caller that it refused", async () => {
    const { began, ask, end } = createTasks(createFairQueue({ ...LIMITS, atOnce: 1, waiting: 2 }));
    const all = [ask("a", "a1"), ask("a", "a2"), ask("b", "b1")];
    await expect(ask("c", "c1")).rejects.toMatchObject({ code: "TOO_MANY_TRIES" });
    await settle();
    const endAndSettle = async (name: string): Promise<void> => {
      expect(began.at(-1)).toBe(name);
      end(name);
      await settle();
    };
    await endAndSettle("a1");
    all.push(ask("d", "d1"));
    await endAndSettle("b1");
    all.push(ask("c", "c2"));
    for (const name of ["a2", "d1", "c2"]) await endAndSettle(name);
    await Promise.all(all);
  });

  it("goes on after a task that failed", async () => {
    const queue = createFairQueue(LIMITS);
    await expect(queue.run("a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await queue.run("a", () => Promise.resolve(1))).toBe(1);
  });
});
