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
  hasSetpriv: true,
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
  });
  expect(readProgramUser("1000", accounts())).toEqual(user);
  if (user === null) throw new Error("there is one");
  expect(asUser(user, ["python", "--groups=0", "train.py"])).toEqual([
    "setpriv",
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

test.each([[null], [""]])("is nobody else without the flag (%j)", (wished) => {
  expect(readProgramUser(wished, accounts({ uid: 1000 }))).toBeNull();
});

test.each([
  ["trainer", { uid: 1000 }, "only a worker of root can start its program as another user"],
  ["nobody-knows", {}, "this machine has no such user"],
  ["broken", {}, "this machine has no such user"],
  ["toor", {}, "root reads all that the worker keeps: name another user"],
  ["trainer", { hasSetpriv: false }, "it needs the program setpriv, which is part of util-linux"],
])("is refused in one sentence: %s %j", (wished, about, sentence) => {
  expect(() => readProgramUser(wished, accounts(about))).toThrow(
    expect.objectContaining({ code: "BAD_INPUT", context: expect.objectContaining({ detail: sentence }) }),
  );
});
