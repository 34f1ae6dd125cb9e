import type { Hub } from "../hub-link/hub.ts";

/** Creates a hub for tests that answers each call by its name. A call without an answer fails the test. */
export function createFakeHub(answers: Record<string, (...args: never[]) => unknown>): Hub & { asked: string[] } {
  const asked: string[] = [];
  const hub = {
    asked,
    isUp: true,
    ask: async <T>(op: string, work: unknown): Promise<T> => {
      asked.push(op);
      const answer = answers[op];
      if (answer === undefined) throw new Error(`nobody expected ${op}`);
      const input = await captureInput(work);
      return (await (answer as (input: unknown) => unknown)(input)) as T;
    },
  };
  return hub as typeof hub & Hub;
}

/** Runs the caller's work against a client that only records its input. Returns the input. */
async function captureInput(work: unknown): Promise<unknown> {
  let input: unknown;
  const procedure = {
    mutate: async (given: unknown) => {
      input = given;
    },
    query: async (given: unknown) => {
      input = given;
    },
  };
  const client = { node: new Proxy({}, { get: () => procedure }) };
  if (typeof work === "function") await work(client, new AbortController().signal);
  return input;
}
