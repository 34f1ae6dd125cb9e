import { type RunningProcess, startProcess } from "./start-process.ts";

export interface HubOptions {
  dataDir: string;
  /** Default 0: the system chooses. */
  port?: number;
  admin?: { email: string; password: string };
  /** Whether the hub serves pages. By default it does not, because the API alone starts faster. */
  pages?: "served" | "left out";
  env?: Record<string, string>;
  /** As in `StartOptions`. */
  under?: readonly string[];
  /** Launcher to start. Default: the bundle of the tests where one was prepared, else the sources. */
  program?: string;
  /** Default: the limit of `startProcess`. */
  readyWithinMs?: number;
  onLine?: (line: string) => void;
}

export interface RunningHub extends RunningProcess {
  url: string;
  port: number;
}

export const HUB_SOURCES = "server/main.ts";
/** Returns the launcher that tests start; `prepare-hub` bundles it. */
export const testedHub = (): string => process.env["GATE_HUB"] ?? HUB_SOURCES;
/** Returns the hub's commands for backup, restore and rebuild, from the same bundle. */
export const testedUpkeep = (): string =>
  testedHub().replace(/main\.(ts|js)$/, "features/maintenance/command-line/main.$1");

/** Starts the real hub. `ready` is its address. */
export async function startHub(options: HubOptions): Promise<RunningHub> {
  const running = await startProcess({
    title: "hub",
    entry: options.program ?? testedHub(),
    ...(options.under === undefined ? {} : { under: options.under }),
    env: {
      TIDEMARK_DATA: options.dataDir,
      TIDEMARK_PORT: String(options.port ?? 0),
      TIDEMARK_HOST: "127.0.0.1",
      ...(options.pages === "served" ? {} : { TIDEMARK_NO_UI: "1" }),
      ...(options.admin === undefined
        ? {}
        : { TIDEMARK_ADMIN_EMAIL: options.admin.email, TIDEMARK_ADMIN_PASSWORD: options.admin.password }),
      ...options.env,
    },
    readReady: (line) => /Tidemark is ready at (?:https:.* \(listens at )?(http:\/\/[^\s)]+)/.exec(line)?.[1] ?? null,
    ...(options.readyWithinMs === undefined ? {} : { readyWithinMs: options.readyWithinMs }),
    ...(options.onLine === undefined ? {} : { onLine: options.onLine }),
  });
  const url = running.ready.replace(/\/$/, "");
  return { ...running, url, port: Number(new URL(url).port) };
}
