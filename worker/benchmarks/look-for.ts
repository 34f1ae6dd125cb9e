import { ENGINE_NAMES, ENGINES, engineSpec, type EngineName } from "#protocol/benchmarks/engines.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { formatBytes } from "#protocol/base/units.ts";
import { DRIVERS } from "../engines/drivers.ts";
import type { Found, Present, Where } from "../engines/driver.ts";
import type { Terminal } from "../command-line/terminal.ts";
import type { BenchOptions } from "./options.ts";

export interface Looking {
  options: BenchOptions;
  where: Where;
  terminal: Terminal;
  /** Returns why an engine cannot run at this bucket, in a sentence without its full stop; null: it can. */
  unable(name: EngineName): string | null;
}

/** Looks for the wanted engines and prints what it found. Faults: ENGINE_MISSING for one that was named. */
export async function lookFor(looking: Looking): Promise<Map<EngineName, Present>> {
  const { options, where, unable } = looking;
  const wanted = (options.engines ?? ENGINE_NAMES).filter((name) =>
    options.directions.some((direction) => engineSpec(name).directions.includes(direction)),
  );
  const looked = await Promise.all(
    wanted.map(async (name): Promise<[EngineName, Found]> => {
      const why = unable(name);
      return [name, why === null ? await DRIVERS[name].find(where) : { missing: why }];
    }),
  );
  const present = new Map<EngineName, Present>();
  for (const [name, found] of looked) {
    sayFound(looking, name, found);
    if (!("missing" in found)) present.set(name, found);
    else if (options.engines !== null) {
      throw new Fault("ENGINE_MISSING", { op: "bench", subject: ENGINES[name].title, detail: found.missing });
    }
  }
  return present;
}

function sayFound({ terminal, options }: Looking, name: EngineName, found: Found): void {
  const { title, how } = ENGINES[name];
  const { sizeBytes, partBytes, connections } = options;
  const holds = options.directions.map(
    (direction) => DRIVERS[name].holds({ direction, sizeBytes, partBytes, connections }) ?? 0,
  );
  const holdsBytes = Math.max(...holds) || null;
  const isMissing = "missing" in found;
  const memory = holdsBytes === null ? "" : `; about ${formatBytes(holdsBytes)} of memory by its settings`;
  const text = isMissing ? `${title}: left out, ${found.missing}` : `${title}: ${found.version}${memory}`;
  terminal.say(text, {
    type: "engine",
    engine: name,
    title,
    how,
    version: isMissing ? null : found.version,
    missing: isMissing ? found.missing : null,
    holdsBytes,
  });
}
