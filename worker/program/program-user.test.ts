import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { type Accounts, asUser, readProgramUser, userVariables } from "./program-user.ts";

const LINES: Record<string, string> = {
  trainer: "trainer:x:1000:1001:A person:/home/trainer:/bin/bash",
  "1000": "trainer:x:1000:1001:A person:/home/trainer:/bin/bash",
  toor: "toor:x:0:0::/root:/bin/sh",
  broken: "broken:x::1",
};
const accounts = (about: Partial<Accounts> = {}): Accounts => ({
  uid: 0,
  lineOf: (user) => LINES[user] ?? null,
  groupsOf: () => [1001, 44],
  setpriv: "/usr/bin/setpriv",
  ...about,
});

test("is found by name and by number, with its groups and its home", () => {
  const user = readProgramUser("trainer", accounts());
  expect(user).toEqual({
    name: "trainer",
    uid: 1000,
    gid: 1001,
    groups: [1001, 44],
    home: "/home/trainer",
    shell: "/bin/bash",
    setpriv: "/usr/bin/setpriv",
  });
  expect(readProgramUser("1000", accounts())).toEqual(user);
  if (user === null) throw new Error("there is one");
  expect(asUser(user, ["python", "--groups=0", "train.py"]).command).toEqual([
    "/usr/bin/setpriv",
    "--reuid=1000",
    "--regid=1001",
    "--groups=1001,44",
    "--inh-caps=-all",
    "--",
    "python",
    "--groups=0",
    "train.py",
  ]);
  expect(userVariables(user)).toEqual({
    HOME: "/home/trainer",
    USER: "trainer",
    LOGNAME: "trainer",
    SHELL: "/bin/bash",
    XDG_RUNTIME_DIR: undefined,
  });
});

test.each([[null], [""]])("is nobody else without the flag (%j)", (requested) => {
  expect(readProgramUser(requested, accounts({ uid: 1000 }))).toBeNull();
});

test.each([
  ["trainer", { uid: 1000 }, "only a worker of root can start its program as another user"],
  ["nobody-knows", {}, "this machine has no such user"],
  ["broken", {}, "this machine has no such user"],
  ["toor", {}, "root reads all that the worker keeps: name another user"],
  ["trainer", { setpriv: null }, "it needs the program setpriv, which is part of util-linux"],
])("is refused in one sentence: %s %j", (requested, about, sentence) => {
  expect(() => readProgramUser(requested, accounts(about))).toThrow(
    expect.objectContaining({ code: "BAD_INPUT", context: expect.objectContaining({ detail: sentence }) }),
  );
});

test("the variables of a job reach the program unchanged, but not the step that runs as root", () => {
  const user = readProgramUser("trainer", accounts());
  if (user === null) throw new Error("there is one");
  const variables = {
    LD_PRELOAD: "",
    PATH: "/usr/bin:/bin:/job's",
    TEXT: 'a "b" $HOME `id`\n-c',
    TIDEMARK_JOB_ID: "7",
    GONE: undefined,
  };
  const program = [process.execPath, "-e", "process.stdout.write(JSON.stringify(process.env))"];
  const { command, env } = asUser(user, program, variables);
  expect(Object.keys(env).filter((name) => !name.startsWith("TIDEMARK_"))).toEqual([]);
  expect(command.join("\n")).not.toContain("/job's");
  // The part behind setpriv, without the switch, which needs root.
  const [file = "", ...args] = command.slice(command.indexOf("--") + 1);
  const { stdout } = spawnSync(file, args, {
    encoding: "utf8",
    env: { NODE_ENV: "test", PATH: "/nowhere", ...env },
  });
  const seen = JSON.parse(stdout) as Record<string, string>;
  expect(seen).toMatchObject({ LD_PRELOAD: "", PATH: variables.PATH, TEXT: variables.TEXT, TIDEMARK_JOB_ID: "7" });
  expect(Object.keys(seen).filter((name) => name.startsWith("TIDEMARK_"))).toEqual(["TIDEMARK_JOB_ID"]);
});
