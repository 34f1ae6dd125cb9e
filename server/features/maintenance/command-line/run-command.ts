import { resolve } from "node:path";
import { remainsOfEnvFile } from "#protocol/base/env-remains.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { credentialDraft, profileDraft } from "#protocol/wire/requests.ts";
import type { HistoryFound, JanitorReport } from "#protocol/wire/upkeep.ts";
import { formatBytes } from "#protocol/base/units.ts";
import { checkMasterKey } from "#server/signer/check-master-key.ts";
import { helpLines, type HubCommandName } from "./commands.ts";
import { confirmAtConsole } from "../confirm-deletions.ts";
import { lookAtProfile, removedClause, runJanitor } from "../janitor.ts";
import { createUser, disableUser, listUsers, setPassword, setRole, type UsersAt } from "./manage-users.ts";
import type { HubInvocation } from "./read-command.ts";
import { readPostgres } from "#server/platform/settings/read-postgres.ts";
import { readSecret } from "#server/platform/settings/read-secret.ts";
import { rebuild } from "../rebuild.ts";
import { rekey } from "../rekey.ts";
import { foundText } from "#server/core/record/settle-history.ts";
import { backup, restore } from "./keep-commands.ts";
import { moveCommand } from "./move-command.ts";
import { done, toolsOptions, withTools, type CommandResult, type Scope, type Surroundings } from "./scope.ts";
import { openToolsAlone, openToolsBeside } from "./tools.ts";

function rebuildOptions({ invocation, around }: Scope): Parameters<typeof rebuild>[1] {
  const { values } = invocation;
  const profileName = values.get("profile");
  if (profileName !== undefined) return { profileName };
  for (const needed of ["name", "endpoint", "bucket"] as const) {
    if (values.get(needed) === undefined) {
      throw new Fault("BAD_INPUT", { op: "usage", subject: `--${needed}`, detail: "it is missing" });
    }
  }
  const draft = profileDraft.safeParse({
    name: values.get("name") ?? "",
    provider: values.get("provider") ?? "other",
    bucket: values.get("bucket") ?? "",
    region: values.get("region") ?? "us-east-1",
    prefix: values.get("prefix") ?? "",
    endpoint: values.get("endpoint") ?? "",
    workerEndpoint: null,
    browserEndpoint: null,
    addressing: values.get("addressing") ?? "path",
  });
  if (!draft.success) {
    const issue = draft.error.issues[0];
    throw new Fault("BAD_INPUT", {
      op: "usage",
      subject: `--${issue?.path.map(String).join(".") ?? ""}`,
      detail: issue?.message ?? "",
    });
  }
  const { variables } = around;
  for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]) {
    const found = remainsOfEnvFile(variables[name] ?? "", { name, kind: "key" });
    if (found !== null)
      throw new Fault("BAD_INPUT", { op: "usage", subject: name, detail: `its value ${found}; take that out` });
  }
  const credential = credentialDraft.safeParse({
    accessKeyId: variables["AWS_ACCESS_KEY_ID"] ?? "",
    secretAccessKey: variables["AWS_SECRET_ACCESS_KEY"] ?? "",
  });
  if (!credential.success) {
    const detail = "put the bucket's key into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
    throw new Fault("BAD_INPUT", { op: "usage", subject: "key", detail });
  }
  return { profile: draft.data, credential: credential.data };
}

const refusedLines = (found: HistoryFound): string[] =>
  found.refusedKeys.map(({ key, why }) => `  refused ${key}: ${why}`);

async function rebuildCommand(scope: Scope): Promise<CommandResult> {
  const options = rebuildOptions(scope);
  const found = await withTools(await openToolsAlone(toolsOptions(scope)), (tools) => rebuild(tools, options));
  const lines = [
    `Read: ${foundText(found)}.`,
    ...refusedLines(found),
    "Start the hub and make the first account; nodes enrol again. Nothing is deleted until an admin confirms (`hub confirm`).",
  ];
  return { ...done(found, lines), exitCode: found.refused > 0 ? 8 : 0 };
}

/** Returns the lines about one run of the janitor. */
export function janitorLines(report: JanitorReport): string[] {
  const line = (what: string, { count, bytes, oldestAt }: JanitorReport["objects"]) =>
    `  ${what.padEnd(34)} ${String(count).padStart(8)} ${formatBytes(bytes).padStart(10)}${oldestAt === null ? "" : `  oldest ${new Date(oldestAt).toISOString()}`}`;
  const { young, live, unknown } = report.kept;
  const open = report.kept["open-epoch"];
  return [
    `${report.profileName}:`,
    line("objects of dead attempts", report.objects),
    line("uploads that were never finished", report.uploads),
    line("left by probes", report.probes),
    line("stay: too young", young),
    line("stay: their epoch is not over", open),
    line("stay: belong to a checkpoint", live),
    line("stay: this hub does not know them", unknown),
    report.mode === "delete"
      ? `  removed ${report.removed.count} (${formatBytes(report.removed.bytes)})${removedClause(report)}`
      : "  Nothing was removed; --delete does it.",
    ...(report.fault === null ? [] : [`  stopped: ${report.fault.code} ${report.fault.subject ?? ""}`]),
  ];
}

async function janitor(scope: Scope): Promise<CommandResult> {
  const { invocation, around } = scope;
  const mode = invocation.switches.has("delete") ? ("delete" as const) : ("report" as const);
  const options = { mode, by: "command line" };
  const reports = await withTools(await openToolsBeside(toolsOptions(scope)), async (tools) => {
    await checkMasterKey(tools.db, tools.signer, around.now());
    const name = invocation.values.get("profile");
    if (name === undefined) return runJanitor(tools, options);
    const row = await tools.db.profile.findUnique({ where: { name } });
    if (row === null) throw new Fault("NOT_FOUND", { op: "janitor", subject: name });
    return [await lookAtProfile(tools, row.id, options)];
  });
  const exitCode = reports.some(({ fault }) => fault !== null) ? 8 : 0;
  return { ...done({ reports }, reports.flatMap(janitorLines)), exitCode };
}

async function confirm(scope: Scope): Promise<CommandResult> {
  const confirmed = await withTools(await openToolsBeside(toolsOptions(scope)), confirmAtConsole);
  return done({ confirmed }, confirmed ? "Deletions are allowed again." : "Nothing was in doubt.");
}

async function rekeyCommand(scope: Scope): Promise<CommandResult> {
  const rekeyed = await rekey(toolsOptions(scope));
  const text =
    rekeyed.rewrapped === 0
      ? `Everything was sealed with this master key already (version ${rekeyed.keyVersion}).`
      : `${rekeyed.rewrapped} texts are sealed anew: the master key is version ${rekeyed.keyVersion} now, and the one before opens nothing here. Backups made until now still need it.`;
  return done(rekeyed, text);
}

async function user(scope: Scope): Promise<CommandResult> {
  const { invocation, around } = scope;
  const [action, email = "", more] = invocation.operands;
  const readPassword = async () => (invocation.switches.has("stdin") ? around.readLine() : null);
  const told = (password: string | null) => (password === null ? [] : [`Password, shown this once: ${password}`]);
  const act = async (at: UsersAt): Promise<CommandResult> => {
    if (action === "list") {
      const users = await listUsers(at);
      const lines = users.map((one) => `${one.email}  ${one.role}${one.isDisabled ? "  disabled" : ""}`);
      return done({ users }, users.length === 0 ? "There is no account." : lines);
    }
    if (email === "") throw new Fault("BAD_INPUT", { op: "usage", subject: "user", detail: "whose account?" });
    if (action === "create") {
      const role = invocation.values.get("role") ?? "viewer";
      const password = await createUser(at, { email, role, password: await readPassword() });
      return done({ email, role, password }, [`${email} may sign in as ${role}.`, ...told(password)]);
    }
    if (action === "role") {
      const role = more ?? invocation.values.get("role") ?? "";
      await setRole(at, { email, role });
      return done({ email, role }, `${email} is ${role} now, and signed out.`);
    }
    if (action === "disable") {
      await disableUser(at, { email });
      return done({ email }, `${email} can no longer sign in; a new password lets them in again.`);
    }
    if (action === "password") {
      const password = await setPassword(at, { email, password: await readPassword() });
      return done({ email, password }, [`${email} has a new password and is signed out.`, ...told(password)]);
    }
    const detail = "it is list, create, role, disable or password";
    throw new Fault("BAD_INPUT", { op: "usage", subject: `user ${action}`, detail });
  };
  const { now, passwordCost } = around;
  return withTools(await openToolsBeside(toolsOptions(scope)), ({ db }) => act({ db, now: now(), passwordCost }));
}

const ACTIONS: Record<HubCommandName, (scope: Scope) => Promise<CommandResult>> = {
  backup,
  restore,
  move: moveCommand,
  rebuild: rebuildCommand,
  janitor,
  confirm,
  rekey: rekeyCommand,
  user,
};

/** Carries out a parsed command line. @throws Fault, MigrationRefused */
export async function runHubCommand(invocation: HubInvocation, around: Surroundings): Promise<CommandResult> {
  const { command } = invocation;
  if (invocation.isHelp || command === null) return done({}, helpLines(command));
  const dataFolder = resolve(invocation.values.get("data") ?? around.variables["TIDEMARK_DATA"] ?? "data");
  const postgres = readPostgres(around.variables, (name) => readSecret(around.variables, name));
  return ACTIONS[command]({ invocation, around, dataFolder, postgres });
}
