import { afterEach, describe, expect, it, vi } from "vitest";
import { createReadiness } from "./readiness.ts";
import { served, servedForEach, test } from "../testing/served-for-each.ts";

servedForEach();
afterEach(() => {
  vi.restoreAllMocks();
});

const ask = async (path: string) => {
  const answer = await fetch(`${served.url}${path}`);
  return [answer.status, (await answer.json()) as unknown] as const;
};
const never = () => new Promise<never>(() => undefined);

describe("the address for a load balancer", () => {
  it("answers 200 while all parts work, and asks them at most once a second however many ask", async () => {
    const seal = vi.spyOn(test.hub.signer, "sealText");
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask("/readyz")));
    expect(answers).toEqual(answers.map(() => [200, { ready: true, missing: [] }]));
    expect(seal).toHaveBeenCalledOnce();
    test.advance(1_001);
    await ask("/readyz");
    expect(seal).toHaveBeenCalledTimes(2);
  });

  it.each([
    ["database", () => vi.spyOn(test.hub.db, "$queryRaw").mockRejectedValue(new Error("gone") as never)],
    ["signer", () => vi.spyOn(test.hub.signer, "sealText").mockRejectedValue(new Error("gone"))],
    ["lock", () => vi.spyOn(test.hub, "canWrite").mockReturnValue(false)],
  ] as const)("answers 503 without its %s, while the process counts as healthy", async (missing, fail) => {
    fail();
    expect(await ask("/readyz")).toEqual([503, { ready: false, missing: [missing] }]);
    expect((await ask("/healthz"))[0]).toBe(200);
  });

  it("does not wait for a part that never answers", async () => {
    vi.spyOn(test.hub.signer, "sealText").mockImplementation(never);
    expect(await createReadiness(test.hub, 30)()).toEqual(["signer"]);
  });

  it("says that the hub stops as soon as it begins to, for connections that are open", async () => {
    const ready = createReadiness(test.hub);
    expect(await ready()).toEqual([]);
    test.startClosing();
    expect(await ready()).toEqual(["stopping"]);
    expect(await ask("/readyz")).toEqual([503, { ready: false, missing: ["stopping"] }]);
  });
});
