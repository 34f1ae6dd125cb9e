import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openStage, type Stage } from "../stage/open-stage.ts";

/** What the program of `tidemark run` finds of the join token with which its worker was started. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

/** Looks through everything about its ancestors that its user may read, up to the process of the test. */
const LOOK = `const fs = require("fs"), token = fs.readFileSync(process.argv[1], "utf8"), last = process.argv[2];
  let found = [], seen = 0;
  for (let pid = process.ppid; String(pid) !== last && pid > 1; seen++) {
    for (const what of ["environ", "cmdline"]) {
      const text = fs.readFileSync("/proc/" + pid + "/" + what, "utf8");
      if (text.includes(token)) found.push(what);
      if (what === "environ" && !text.includes("PATH=")) found.push("no environment");
    }
    pid = Number(/\\) . (\\d+)/.exec(fs.readFileSync("/proc/" + pid + "/stat", "utf8"))[1]);
  }
  for (const folder of ["/dev/shm", require("os").tmpdir()])
    for (const name of fs.readdirSync(folder).filter((one) => one.startsWith("tidemark-join-"))) {
      // Other tests start workers with tokens of their own at the same time.
      try { if (fs.readFileSync(folder + "/" + name + "/token", "utf8") === token) found.push(name); } catch {}
    }
  if (JSON.stringify(process.env).includes(token)) found.push("own environment");
  console.log("looked at " + seen + " and found " + (found.join() || "nothing"));`;

test.each(["variable", "flag"])(
  "a token that came as a %s is nowhere to be read once the program runs",
  async (way) => {
    const file = join(stage.dir, `${way}.token`);
    writeFileSync(file, stage.token);
    const flag = way === "flag" ? ["--token", stage.token] : [];
    const worker = await stage.startNode({
      name: `hidden-${way}`,
      run: `hidden-${way}`,
      flags: flag,
      ...(way === "flag" && { token: "" }),
      program: [process.execPath, "-e", LOOK, file, String(process.pid)],
    });
    expect(await worker.exited).toMatchObject({ code: 0 });
    expect(worker.lines.join("\n")).toContain("looked at 1 and found nothing");
    expect(worker.lines.join("\n")).toContain(`Enrolled at ${stage.hub.url} as hidden-${way}.`);
  },
);
