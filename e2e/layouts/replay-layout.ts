import {
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { unpackLayout } from "./unpack-layout.ts";

/**
 * A training program for tests, run as `node replay-layout.ts NAME FOLDER [BEFORE]`: writes what a real framework left, one file after
 * another in the order in which it wrote them, says so, and stays until it is killed. It waits for a file FOLDER.go before it writes the entry BEFORE.
 */
const [name = "", folder = "", before = ""] = process.argv.slice(2);

const dir = mkdtempSync(join(tmpdir(), "tidemark-layout-"));
try {
  unpackLayout(name, dir);
  const entries = readdirSync(dir, { recursive: true, encoding: "utf8" })
    .map((path) => ({ path, stat: lstatSync(join(dir, path)) }))
    .filter(({ stat }) => !stat.isDirectory())
    .toSorted((a, b) => a.stat.mtimeMs - b.stat.mtimeMs || (a.path < b.path ? -1 : 1));
  const written = new Map<number, string>();
  for (const { path, stat } of entries) {
    if (before !== "" && path.split("/")[0] === before && !existsSync(`${folder}.go`)) {
      // A link to the entry that is still to come leads to the one before it until then, as `last.ckpt` of Lightning does.
      const earlier = [...written.values()].at(-1);
      for (const link of entries.filter((one) => one.stat.isSymbolicLink()))
        if (earlier !== undefined && readlinkSync(join(dir, link.path)) === before)
          symlinkSync(basename(earlier), join(folder, link.path));
      console.log(`pauses before ${before}`);
      while (!existsSync(`${folder}.go`)) await pause(20);
    }
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    const same = written.get(stat.ino);
    rmSync(target, { force: true });
    if (stat.isSymbolicLink()) symlinkSync(readlinkSync(join(dir, path)), target);
    // timm's `last`, `best` and numbered checkpoints are names of one file.
    else if (same !== undefined) linkSync(same, target);
    else copyFileSync(join(dir, path), target);
    written.set(stat.ino, target);
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
console.log(`wrote ${name}`);
setInterval(() => undefined, 60_000);
