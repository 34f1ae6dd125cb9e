import { readdir } from "node:fs/promises";
import { saidLines } from "#protocol/base/visible-text.ts";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { callAs, NOBODY, openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";
import { fault } from "#server/testing/match-fault.ts";
import { HUB_COMMANDS } from "./commands.ts";
import { readCommand } from "./read-command.ts";
import { runHubCommand } from "./run-command.ts";

let test: TestHub;
beforeEach(async () => {
  test = await openTestHub();
});
afterEach(() => test.close());

const around = {
  variables: {},
  secret: null,
  previous: null,
  now: Date.now,
  passwordCost: 10,
  readLine: async () => "",
  tell: () => undefined,
};
/** Runs a command line on the data of the hub, which goes on. */
const hub = async (line: string[], stdin = "") => {
  const { postgres } = test.hub.settings;
  const variables = postgres === null ? {} : { TIDEMARK_DATABASE_URL: postgres.url };
  const options = { ...around, variables, readLine: async () => stdin };
  const done = await runHubCommand(readCommand([...line, "--data", test.folder]), options);
  return { ...done, text: saidLines(done.text) };
};
const signIn = (email: string, password: string) => callAs(test.hub, NOBODY).auth.signIn({ email, password });

describe("the hub's command line", () => {
  it("has help for every command, made from the table", async () => {
    const all = await runHubCommand(readCommand(["help"]), around);
    for (const [name, { says, usage }] of Object.entries(HUB_COMMANDS)) {
      expect(saidLines(all.text)).toContain(says);
      const one = await runHubCommand(readCommand([name, "--help"]), around);
      expect(saidLines(one.text)).toContain(usage);
    }
  });

  it("names a bucket key with quotes of an env file, without the key", async () => {
    const place = ["--provider", "other", "--endpoint", "http://127.0.0.1:9", "--bucket", "training", "--name", "b"];
    const variables = { AWS_ACCESS_KEY_ID: "AKIA", AWS_SECRET_ACCESS_KEY: '"key of a bucket' };
    const line = ["rebuild", ...place, "--data", test.folder];
    await expect(runHubCommand(readCommand(line), { ...around, variables })).rejects.toMatchObject({
      context: { subject: "AWS_SECRET_ACCESS_KEY", detail: expect.stringContaining("nothing closes") as string },
    });
  });

  it.each([
    [["backupp"], "there are backup, restore"],
    [["backup", "--tp", "x"], "--tp"],
    [["restore"], "hub restore FILE"],
    [["backup", "--keep", "0"], "1 to 9999"],
    [["user", "remove", "a@b.co"], "list, create, role"],
    [["rebuild", "--name", "x"], "--endpoint"],
  ])("says what is wrong with %j", async (line, said) => {
    const failed = await Promise.resolve()
      .then(() => hub(line))
      .catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "BAD_INPUT" });
    expect(String(failed)).toContain(said);
  });

  it("backs up beside the running hub, into its own folder unless told otherwise", async () => {
    const { result, text } = await hub(["backup", "--gzip"]);
    const [name] = await readdir(join(test.folder, "backups"));
    expect(result).toMatchObject({ file: join(test.folder, "backups", name ?? "") });
    expect(text).toContain("The master key is not in it");
  });

  it("lets somebody in when nobody can sign in", async () => {
    const { result } = await hub(["user", "create", "Ada@Example.com", "--role", "admin"]);
    const { password } = result as { password: string };
    expect(password.length).toBeGreaterThanOrEqual(20);
    expect(await signIn("ada@example.com", password)).toMatchObject({ person: { role: "admin" } });
    await hub(["user", "password", "ada@example.com", "--stdin"], "another long password");
    await expect(signIn("ada@example.com", password)).rejects.toEqual(fault("SIGN_IN_FAILED"));
    expect(await test.hub.db.session.count()).toBe(0);
    await signIn("ada@example.com", "another long password");
    const told = JSON.stringify(await test.hub.db.audit.findMany());
    expect(told).not.toContain(password);
    expect(told).toContain("set password");
  });

  it("takes no password as an argument, and none that is too short", async () => {
    await expect(
      Promise.resolve().then(() => hub(["user", "create", "a@b.co", "viewer", "password"])),
    ).rejects.toThrow();
    await expect(hub(["user", "create", "a@b.co", "--stdin"], "short")).rejects.toMatchObject({ code: "BAD_INPUT" });
  });

  it("disables an account until it gets a new password, but never the last admin", async () => {
    await hub(["user", "create", "ada@example.com", "--role", "admin"]);
    await hub(["user", "create", "bob@example.com", "--role", "operator", "--stdin"], "a long password of bob");
    await expect(hub(["user", "disable", "ada@example.com"])).rejects.toMatchObject({ code: "LAST_ADMIN" });
    await expect(hub(["user", "role", "ada@example.com", "viewer"])).rejects.toMatchObject({ code: "LAST_ADMIN" });
    await hub(["user", "disable", "bob@example.com"]);
    await expect(signIn("bob@example.com", "a long password of bob")).rejects.toEqual(fault("ACCOUNT_DISABLED"));
    expect((await hub(["user", "list"])).text).toBe("ada@example.com  admin\nbob@example.com  operator  disabled");
    await hub(["user", "password", "bob@example.com", "--stdin"], "a new password of bob");
    await signIn("bob@example.com", "a new password of bob");
    await hub(["user", "role", "bob@example.com", "admin"]);
    await hub(["user", "disable", "ada@example.com"]);
  });
});
