import { spawn, type ChildProcess } from "node:child_process";
import { constants } from "node:os";
import { Fault } from "#protocol/fault.ts";
import { codeOf } from "../engine/disk-fault.ts";

/** The training program: started with our own streams, told of the signals we get, and waited for. */
export interface Program {
  readonly ended: Promise<ProgramEnd>;
  /** Does nothing once it has ended. */
  send(signal: NodeJS.Signals): void;
}

export interface ProgramEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** As a shell tells it: 128 and the number of the signal that ended it. */
export const exitCodeOf = ({ code, signal }: ProgramEnd): number =>
  code ?? (signal === null ? 1 : 128 + constants.signals[signal]);

/** `ended` rejects with PROGRAM_NOT_FOUND or PROGRAM_NOT_EXECUTABLE when it cannot be started. */
export function startProgram(command: readonly string[], env: Readonly<Record<string, string | undefined>>): Program {
  const [file = "", ...args] = command;
  const child: ChildProcess = spawn(file, args, { stdio: "inherit", env: { ...env } as NodeJS.ProcessEnv });
  const ended = new Promise<ProgramEnd>((resolve, reject) => {
    child.once("error", (error) => reject(startFault(error, file)));
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  return {
    ended,
    send: (signal) => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    },
  };
}

function startFault(error: unknown, file: string): Fault {
  const code = codeOf(error);
  const isThere = code === "EACCES" || code === "ENOEXEC" || code === "EISDIR";
  return new Fault(isThere ? "PROGRAM_NOT_EXECUTABLE" : "PROGRAM_NOT_FOUND", {
    op: "run",
    subject: file,
    ...(code === null ? {} : { detail: code }),
  });
}
