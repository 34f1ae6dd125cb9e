import { describe, expect, it, vi } from "vitest";
import { facts } from "../testing/open-test-hub.ts";
import { node, served, servedForEach, test } from "../testing/served-for-each.ts";

servedForEach();

const json = { "content-type": "application/json" };
const post = (procedure: string, body: string, headers: Record<string, string> = json) =>
  fetch(`${served.url}/api/trpc/${procedure}`, { method: "POST", headers, body });
const codeOf = async (answer: Response): Promise<string | undefined> =>
  ((await answer.json()) as { error?: { data: { fault: { code: string } } } }).error?.data.fault.code;

const enrolment = (labels: Record<string, unknown>): string =>
  JSON.stringify({ token: "x".repeat(32), name: "gpu-9", protocol: 1, facts: { ...facts, labels } });
const manyLabels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`l${index}`, 1]));

describe("a call that nobody signed in for", () => {
  it.each(["node.enrol", "auth.signIn", "auth.setup", "node%2Eenrol", "auth.status,node.enrol", "no.such"])(
    "%s is read up to 64 KiB",
    async (path) => {
      const body = enrolment(manyLabels(20_000));
      expect(body.length).toBeGreaterThan(65_536);
      const answer = await post(path, body);
      expect([400, 404, 413]).toContain(answer.status);
    },
  );

  it("is read no further when it comes with the credential of a node", async () => {
    const answer = await post("node.enrol", enrolment(manyLabels(20_000)), {
      ...json,
      authorization: `Bearer ${node.credential}`,
    });
    expect(await codeOf(answer)).toBe("TOO_LARGE");
  });

  it("is refused before its body is parsed once too many failed", async () => {
    // The allowance fills again with time, and requests take some.
    vi.useFakeTimers({ toFake: ["Date"] });
    for (let tries = 0; tries < 60; tries++) {
      expect(await codeOf(await post("node.enrol", "{"))).toBe("BAD_INPUT");
    }
    expect(await codeOf(await post("node.enrol", "{"))).toBe("TOO_MANY_TRIES");
    expect(await codeOf(await post("auth.signIn", "{"))).toBe("TOO_MANY_TRIES");
    test.advance(1_100);
    expect(await codeOf(await post("node.enrol", "{"))).toBe("BAD_INPUT");
    vi.useRealTimers();
  });

  it("leaves calls alone that ask who is there", async () => {
    for (let tries = 0; tries < 61; tries++) await post("node.enrol", "{");
    expect((await fetch(`${served.url}/api/trpc/auth.status`)).status).toBe(200);
  });
});
