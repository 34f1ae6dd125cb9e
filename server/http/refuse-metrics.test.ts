import { describe, expect, it, onTestFinished } from "vitest";
import { openTestHub } from "../testing/open-test-hub.ts";
import { refuseMetrics } from "./refuse-metrics.ts";
import { serve } from "./serve.ts";

const from = (remoteAddress: string, headers: Record<string, string> = {}) => ({ headers, socket: { remoteAddress } });
const TOKEN = "a-token-for-prometheus";

describe("/metrics", () => {
  it("is open as it comes, and closed to everybody where that is said", () => {
    expect(refuseMetrics({ audience: "everyone", token: null }, from("203.0.113.5"))).toBeNull();
    expect(refuseMetrics({ audience: "nobody", token: null }, from("127.0.0.1"))).toBe(404);
  });

  it("is for this machine alone where that is said, also behind a proxy on it", () => {
    const door = { audience: "loopback", token: null } as const;
    for (const here of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) expect(refuseMetrics(door, from(here))).toBeNull();
    expect(refuseMetrics(door, from("203.0.113.5"))).toBe(404);
    expect(refuseMetrics(door, from("127.0.0.1", { "x-forwarded-for": "203.0.113.5" }))).toBe(404);
    expect(refuseMetrics(door, from("127.0.0.1", { forwarded: "for=203.0.113.5" }))).toBe(404);
  });

  it("asks for its token where there is one", async () => {
    const test = await openTestHub({ metrics: { audience: "everyone", token: TOKEN } });
    const served = await serve(test.hub, async (_, response) => void response.end(), 0);
    onTestFinished(async () => {
      await served.close(0);
      await test.close();
    });
    const ask = (authorization: string | null) =>
      fetch(`${served.url}/metrics`, authorization === null ? {} : { headers: { authorization } });
    for (const wrong of [null, "Bearer ", "Bearer wrong", `Bearer ${TOKEN}x`, TOKEN, `Basic ${TOKEN}`]) {
      const answer = await ask(wrong);
      expect([answer.status, await answer.text()], String(wrong)).toEqual([401, ""]);
    }
    const answer = await ask(`Bearer ${TOKEN}`);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain("# TYPE tidemark_nodes gauge");
  });
});
