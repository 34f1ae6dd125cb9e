import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { callAs, NOBODY, openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";
import { hashOf } from "#server/platform/random-id.ts";
import { hashPassword, passwordFits } from "./password.ts";
import { serve } from "#server/http/serve.ts";
import { failedSignInsSince, noteRefusal } from "./refusals.ts";
import { readSession, secretInCookie } from "./session.ts";
import { fault } from "#server/testing/match-fault.ts";

const draft = { email: "Ada@Example.com", password: "correct horse battery" };
let test: TestHub;
beforeEach(async () => {
  test = await openTestHub();
});
afterEach(() => test.close());

const lastCode = (): string => test.printedCodes.at(-1) ?? "";
const firstAccount = async (): Promise<string> => {
  await callAs(test.hub, NOBODY).auth.status();
  let cookie = "";
  await callAs(test.hub, NOBODY, { setCookie: (value) => (cookie = value) }).auth.setup({ code: lastCode(), ...draft });
  return cookie;
};

describe("the status", () => {
  it("tells where people reach the hub, so that a page that was opened elsewhere can say so", async () => {
    expect((await callAs(test.hub, NOBODY).auth.status()).publicOrigin).toBeNull();
    const publicUrl = new URL("https://tidemark.example/");
    const told = { ...test.hub, settings: { ...test.hub.settings, publicUrl } };
    expect((await callAs(told, NOBODY).auth.status()).publicOrigin).toBe("https://tidemark.example");
  });
});

describe("the first account", () => {
  it("is made with the code on the console, once", async () => {
    const status = await callAs(test.hub, NOBODY).auth.status();
    expect(status.needsSetup).toBe(true);
    const done = await callAs(test.hub, NOBODY).auth.setup({ code: lastCode().toLowerCase(), ...draft });
    expect(done.person).toMatchObject({ email: "ada@example.com", role: "admin" });
    await expect(callAs(test.hub, NOBODY).auth.setup({ code: lastCode(), ...draft })).rejects.toEqual(
      fault("SETUP_CLOSED"),
    );
    expect((await callAs(test.hub, NOBODY).auth.status()).needsSetup).toBe(false);
  });

  it("goes to one of two people who try at the same moment", async () => {
    await callAs(test.hub, NOBODY).auth.status();
    const code = lastCode();
    const tries = await Promise.allSettled(
      ["one@example.com", "two@example.com"].map((email) =>
        callAs(test.hub, NOBODY).auth.setup({ code, email, password: draft.password }),
      ),
    );
    expect(tries.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(await test.hub.db.user.count()).toBe(1);
  });

  it("is refused with another code", async () => {
    await callAs(test.hub, NOBODY).auth.status();
    await expect(callAs(test.hub, NOBODY).auth.setup({ code: "AAAA-AAAA", ...draft })).rejects.toEqual(
      fault("SETUP_CODE_WRONG"),
    );
    expect(await test.hub.db.user.count()).toBe(0);
  });

  it("needs a new code after an hour, which is printed when somebody asks", async () => {
    await callAs(test.hub, NOBODY).auth.status();
    const old = lastCode();
    await callAs(test.hub, NOBODY).auth.status();
    expect(test.printedCodes).toHaveLength(1);
    test.advance(3_600_001);
    await expect(callAs(test.hub, NOBODY).auth.setup({ code: old, ...draft })).rejects.toEqual(
      fault("SETUP_CODE_WRONG"),
    );
    await callAs(test.hub, NOBODY).auth.status();
    expect(test.printedCodes).toHaveLength(2);
    await callAs(test.hub, NOBODY).auth.setup({ code: lastCode(), ...draft });
  });

  it("cannot be reached by guessing codes", async () => {
    await callAs(test.hub, NOBODY).auth.status();
    const guess = () => callAs(test.hub, NOBODY).auth.setup({ code: "AAAA", ...draft });
    for (let tries = 0; tries < 5; tries++) await expect(guess()).rejects.toEqual(fault("SETUP_CODE_WRONG"));
    await expect(guess()).rejects.toEqual(fault("TOO_MANY_TRIES"));
    const right = callAs(test.hub, NOBODY).auth.setup({ code: lastCode(), ...draft });
    await expect(right).rejects.toEqual(fault("TOO_MANY_TRIES"));
  });

  it("has a code of more than 128 bits", async () => {
    await callAs(test.hub, NOBODY).auth.status();
    expect(lastCode().replaceAll("-", "").length * 5).toBeGreaterThanOrEqual(128);
  });

  it("can come with the environment, only while there is none", async () => {
    const firstAdmin = { email: "root@example.com", password: "from the environment" };
    const other = await openTestHub({ firstAdmin });
    expect((await callAs(other.hub, NOBODY).auth.status()).needsSetup).toBe(false);
    await callAs(other.hub, NOBODY).auth.signIn(firstAdmin);
    await other.restart();
    expect(await other.hub.db.user.count()).toBe(1);
    await other.close();
  });
});

describe("signing in", () => {
  it("answers the same for an unknown address and a wrong password", async () => {
    await firstAccount();
    const attempt = (email: string) => callAs(test.hub, NOBODY).auth.signIn({ email, password: "wrong" });
    await expect(attempt("ada@example.com")).rejects.toEqual(fault("SIGN_IN_FAILED"));
    await expect(attempt("nobody@example.com")).rejects.toEqual(fault("SIGN_IN_FAILED"));
  });

  it("is slowed down per account, more with every try, and works again after the wait", async () => {
    await firstAccount();
    const signIn = (password: string) => callAs(test.hub, NOBODY).auth.signIn({ email: draft.email, password });
    for (let tries = 0; tries < 5; tries++) await expect(signIn("wrong")).rejects.toEqual(fault("SIGN_IN_FAILED"));
    await expect(signIn(draft.password)).rejects.toEqual(fault("TOO_MANY_TRIES"));
    test.advance(1_100);
    await expect(signIn("wrong")).rejects.toEqual(fault("SIGN_IN_FAILED"));
    test.advance(1_100);
    await expect(signIn(draft.password)).rejects.toEqual(fault("TOO_MANY_TRIES"));
    test.advance(1_000);
    expect((await signIn(draft.password)).person?.email).toBe("ada@example.com");
  });

  it("that fails is on record with its network, under no name that might be a password", async () => {
    await firstAccount();
    const signIn = (email: string) =>
      callAs(test.hub, NOBODY, { address: "198.51.100.1" }).auth.signIn({ email, password: "wrong" });
    await expect(signIn(draft.email)).rejects.toEqual(fault("SIGN_IN_FAILED"));
    await expect(signIn("my-password")).rejects.toEqual(fault("SIGN_IN_FAILED"));
    const rows = await test.hub.db.audit.findMany({ where: { action: "sign-in failed" }, orderBy: { id: "asc" } });
    expect(rows.map(({ actorKind, subject, address }) => ({ actorKind, subject, address }))).toEqual([
      { actorKind: "nobody", subject: "ada@example.com", address: "198.51.100.1" },
      {
        actorKind: "nobody",
        subject: expect.stringMatching(/^unknown account [0-9a-f]{12}$/),
        address: "198.51.100.1",
      },
    ]);
    expect(test.hub.counters.refusals.get("password")).toBe(2);
    expect(failedSignInsSince(test.hub, test.hub.now() - 60_000)).toBe(2);
  });

  it("that fails a thousand times does not fill the record", async () => {
    await firstAccount();
    for (let tries = 0; tries < 1_000; tries++) {
      await noteRefusal(test.hub, { by: "api-token", address: `198.51.100.${tries % 100}` });
    }
    expect(await test.hub.db.audit.count({ where: { action: "api-token refused" } })).toBe(500);
    expect(test.hub.counters.refusals.get("api-token")).toBe(1_000);
    test.advance(3_600_000);
    await noteRefusal(test.hub, { by: "api-token", address: "198.51.100.1" });
    expect(await test.hub.db.audit.count({ where: { action: "api-token refused" } })).toBe(501);
  });

  it("gives a cookie for https only behind a proxy that is trusted and says https", async () => {
    const other = await openTestHub({ trustProxy: true, firstAdmin: { ...draft, email: "ada@example.com" } });
    const served = await serve(other.hub, async (_request, response) => void response.end(), 0);
    const signIn = (proto: string) =>
      fetch(`${served.url}/api/trpc/auth.signIn`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-forwarded-proto": proto, "x-forwarded-for": "192.0.2.1" },
        body: JSON.stringify(draft),
      });
    const cookie = (await signIn("https")).headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^__Host-tidemark=.*; Secure/);
    expect((await signIn("http")).headers.get("set-cookie")).not.toContain("Secure");
    const asked = { cookie: cookie.split(";", 1)[0] ?? "", "x-forwarded-proto": "https" };
    const status = await fetch(`${served.url}/api/trpc/auth.status`, { headers: asked });
    expect(await status.text()).toContain("ada@example.com");
    await served.close(0);
    await other.close();
  });

  it("is not locked out by wrong passwords from elsewhere, where it signed in before", async () => {
    await firstAccount();
    const signIn = (password: string, address: string) =>
      callAs(test.hub, NOBODY, { address }).auth.signIn({ email: draft.email, password });
    await signIn(draft.password, "192.0.2.7");
    for (let tries = 0; tries < 84; tries++) {
      const failed = await signIn("wrong", `198.51.100.${tries % 28}`).catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(Error);
    }
    await expect(signIn("wrong", "203.0.113.9")).rejects.toEqual(fault("TOO_MANY_TRIES"));
    expect((await signIn(draft.password, "192.0.2.7")).person?.email).toBe("ada@example.com");
  });

  it("does not wait for the tries of another network", async () => {
    await firstAccount();
    const tries = Array.from({ length: 18 }, (_, number) =>
      callAs(test.hub, NOBODY, { address: "198.51.100.1" })
        .auth.signIn({ email: `${number}@example.com`, password: "wrong" })
        .catch((error: unknown) => error),
    );
    const first = await Promise.race([
      callAs(test.hub, NOBODY, { address: "192.0.2.7" }).auth.signIn(draft),
      Promise.all(tries).then(() => null),
    ]);
    expect(first?.person?.email).toBe("ada@example.com");
    const refused = (await Promise.all(tries)).filter((error) => String(error).includes("Too many tries"));
    expect(refused.length).toBeGreaterThan(8);
  });

  it("is slowed down per address over many accounts", async () => {
    const attempt = (number: number) =>
      callAs(test.hub, NOBODY).auth.signIn({ email: `${number}@example.com`, password: "wrong" });
    for (let number = 0; number < 20; number++) await expect(attempt(number)).rejects.toEqual(fault("SIGN_IN_FAILED"));
    await expect(attempt(20)).rejects.toEqual(fault("TOO_MANY_TRIES"));
  });

  it("sets a cookie no script can read, of which only a hash is stored", async () => {
    const cookie = await firstAccount();
    expect(cookie).toMatch(/^tidemark=tms_[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/);
    const secret = secretInCookie("", cookie.split(";")[0]) ?? "";
    const rows = await test.hub.db.session.findMany();
    expect(rows.map(({ hash }) => hash)).toEqual([hashOf(secret)]);
  });

  it("binds the cookie to the host and to https where the hub is reached by https", async () => {
    const other = await openTestHub({
      publicUrl: new URL("https://tidemark.example.com"),
      firstAdmin: { ...draft, email: "ada@example.com" },
    });
    let cookie = "";
    const origin = "https://tidemark.example.com";
    await callAs(other.hub, NOBODY, { origin, setCookie: (value) => (cookie = value) }).auth.signIn(draft);
    expect(cookie).toMatch(/^__Host-tidemark=.*; Path=\/; .*; Secure/);
    await other.close();
  });
});

describe("a session", () => {
  const hashIn = (cookie: string): string => hashOf(secretInCookie("", cookie.split(";")[0]) ?? "");

  it("ends after seven days without use", async () => {
    const hash = hashIn(await firstAccount());
    test.advance(6 * 86_400_000);
    expect((await readSession(test.hub, hash))?.person.email).toBe("ada@example.com");
    test.advance(6 * 86_400_000);
    expect(await readSession(test.hub, hash)).not.toBeNull();
    test.advance(7 * 86_400_000 + 1);
    expect(await readSession(test.hub, hash)).toBeNull();
  });

  it("ends after thirty days whatever happens", async () => {
    const hash = hashIn(await firstAccount());
    for (let day = 0; day < 29; day++) {
      test.advance(86_400_000);
      expect(await readSession(test.hub, hash)).not.toBeNull();
    }
    test.advance(86_400_000);
    expect(await readSession(test.hub, hash)).toBeNull();
  });
});

describe("a password", () => {
  it("fits its own hash only, and the hash carries its cost", async () => {
    const hash = await hashPassword("one", { cost: 10, network: "a" });
    expect(hash).toMatch(/^scrypt\$10\$8\$1\$/);
    expect(await passwordFits("one", hash, { cost: 11, network: "a" })).toBe(true);
    expect(await passwordFits("two", hash, { cost: 11, network: "a" })).toBe(false);
    expect(await passwordFits("one", null, { cost: 10, network: "a" })).toBe(false);
  });
});
