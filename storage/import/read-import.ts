import { MOST_IMPORT_CHARACTERS, type LintFinding } from "#protocol/wire/profiles.ts";
import type { Provider } from "#protocol/base/provider.ts";
import { readAws, readDump, readRclone, type RcloneRemote } from "./from-sections.ts";
import { isS3cmd, readKeyFile, readS3cmd } from "./from-key-files.ts";
import { isBoto, isDvc, joinDvc, nameOfDvc, readBoto, readDvc } from "./from-other-tools.ts";
import { nameJson, readSecretJson, readTerraform } from "./from-definitions.ts";
import { flagsOf, readVariables, sectionsOf } from "./from-variables.ts";
import { readPage } from "./from-pages.ts";
import { lintRclone } from "./lint-rclone.ts";
import { makeDraft, type MadeDraft } from "./make-draft.ts";
import { emptyStore, type ReadStore } from "./read-store.ts";
import { readCommand, remoteOf, type RcloneCommand } from "./read-command.ts";
import { decodedValue, takeApart, type Section } from "./read-text.ts";
import type { ImportView } from "#protocol/wire/profile-views.ts";

/**
 * Reads a pasted text into drafts of bucket profiles. It may hold rclone.conf, the AWS files, files of s3cmd, DVC and boto, variables and
 * rclone commands, also mixed, or one key file (CSV or JSON), or a copied page that shows a key. Keys are returned apart from the parts that may be shown.
 * Pure, with limits, and never throws, because the text is untrusted.
 */

export interface ReadImport extends Pick<ImportView, "kind" | "findings" | "ignored"> {
  made: MadeDraft[];
}

const MOST_DRAFTS = 32;
const MOST_FINDINGS = 60;
const MOST_IGNORED = 20;

const nothing = (why: string): ReadImport => ({ kind: "nothing", made: [], findings: [], ignored: [why] });

/** Reads `:s3:bucket`, whose settings are all in flags. */
function storeOfFlags({ flags }: RcloneCommand): ReadStore {
  const textOf = (name: string): string | null => flags.get(`s3-${name}`) ?? null;
  return {
    ...emptyStore("rclone command"),
    endpoint: textOf("endpoint"),
    region: textOf("region"),
    accessKeyId: textOf("access-key-id"),
    secretAccessKey: textOf("secret-access-key"),
    sessionToken: textOf("session-token"),
  };
}

/** Finds the remote of a command, and sets its bucket to the one that the command names. */
function applyCommand(command: RcloneCommand, remotes: RcloneRemote[]): RcloneRemote | null {
  for (const operand of command.operands) {
    const at = remoteOf(operand);
    const remote = at === null ? undefined : remotes.find(({ name }) => name === at.remote);
    if (at === null || remote === undefined) continue;
    if (remote.read.bucket === null) remote.read = { ...remote.read, bucket: at.bucket };
    return remote;
  }
  const direct = command.operands.find((operand) => operand.startsWith(":s3"));
  if (direct === undefined || !command.flags.has("s3-secret-access-key")) return null;
  const bucket = /^:s3:([^/]+)/.exec(direct)?.[1] ?? null;
  const made = {
    name: "rclone command",
    read: { ...storeOfFlags(command), bucket },
    options: new Map<string, string>(),
  };
  remotes.push(made);
  return made;
}

const providerOf = (remote: RcloneRemote | null): Provider =>
  remote === null ? "other" : makeDraft(remote.read).draft.profile.provider;

function unique(findings: readonly LintFinding[]): LintFinding[] {
  const seen = new Map(findings.map((finding) => [JSON.stringify(finding), finding]));
  return [...seen.values()].slice(0, MOST_FINDINGS);
}

function lintAll(
  commands: readonly RcloneCommand[],
  remotes: RcloneRemote[],
  shared: Map<string, string>,
): LintFinding[] {
  if (commands.length > 0) {
    return commands.flatMap((command) => {
      const remote = applyCommand(command, remotes);
      const flags = new Map<string, string | null>([...shared, ...(remote?.options ?? []), ...command.flags]);
      return lintRclone({ flags, provider: providerOf(remote), verb: command.verb });
    });
  }
  return remotes.flatMap((remote) => {
    const flags = new Map<string, string | null>([...shared, ...remote.options]);
    return flags.size > 0 ? lintRclone({ flags, provider: providerOf(remote), verb: "" }) : [];
  });
}

const dumped = (sections: Section[]) => ({
  sections: sections.slice(0, MOST_DRAFTS),
  variables: new Map<string, string>(),
  commands: [],
  ignored: [],
});

/** Reads a pasted text. Never throws. */
export function readImport(text: string): ReadImport {
  if (text.length > MOST_IMPORT_CHARACTERS) return nothing("the text is longer than any such file");
  if (/^RCLONE_ENCRYPT_V\d:/m.test(text)) {
    return nothing("this rclone.conf is encrypted: paste what rclone config show prints");
  }
  const keyFiles = readKeyFile(text);
  if (keyFiles !== null) {
    return { kind: "key file", made: keyFiles.slice(0, MOST_DRAFTS).map(makeDraft), findings: [], ignored: [] };
  }
  const foreign = nameJson(text);
  if (foreign !== null) return nothing(foreign);
  const defined = [
    ...(readSecretJson(text, decodedValue) ?? []).flatMap(readVariables),
    ...[readTerraform(text)].filter((one) => one !== null),
  ];
  if (defined.length > 0)
    return { kind: "key file", made: defined.slice(0, MOST_DRAFTS).map(makeDraft), findings: [], ignored: [] };
  const dump = readDump(text);
  const { sections, variables, commands: lines, ignored } = dump === null ? takeApart(text) : dumped(dump);
  // Wrappers of restic keep it in YAML, and its keys under the names of AWS beside it.
  const repository = /^[ \t]*(?:- )?repository:[ \t]*["']?(s3:[^\s"']{1,1024})["']?[ \t]*\r?$/m.exec(text)?.[1];
  if (repository !== undefined && !variables.has("RESTIC_REPOSITORY")) variables.set("RESTIC_REPOSITORY", repository);
  const isBare = sections.length === 0 && variables.size === 0 && lines.length === 0;
  const page = isBare ? readPage(text) : null;
  if (page !== null) return { kind: "key file", made: [makeDraft(page)], findings: [], ignored: [] };
  const kindOf = (section: Section) => {
    if (isDvc(section)) return "dvc";
    if (section.literal.has("type")) return "rclone";
    return isS3cmd(section.literal) ? "s3cmd" : "aws";
  };
  const of = (kind: ReturnType<typeof kindOf>) => sections.filter((section) => kindOf(section) === kind);
  // rclone reads values literally, with quotes and `#`.
  const own = of("rclone").map((section) => ({ ...section, values: section.literal }));
  const rclone = readRclone([...own, ...sectionsOf(variables)]);
  const remotes = joinDvc(of("dvc")).map((section) => readDvc(section) ?? nameOfDvc(section));
  const dvc = remotes.filter((one) => typeof one !== "string");
  const rest = of("aws");
  const boto = isBoto(rest) ? [readBoto(rest)] : [];
  // With DVC remotes `[core]` names the default remote, and a .boto file has sections of its own: neither is a profile
  // of AWS.
  const aws = boto.length > 0 ? [] : readAws(rest.filter(({ name }) => remotes.length === 0 || name !== "core"));
  const s3cmd = of("s3cmd").map(readS3cmd);
  const otherRemotes = remotes.flatMap((one) => (typeof one === "string" ? [`${one}: no store that speaks S3`] : []));
  const commands = lines.map(readCommand);
  const findings = lintAll(commands, rclone.remotes, flagsOf(variables));
  const fromVariables = readVariables(variables);
  // The AWS config file without the credentials file still tells region and endpoint.
  const reads = [...rclone.remotes.map(({ read }) => read), ...aws, ...dvc, ...boto, ...s3cmd, ...fromVariables];
  const kinds = [
    ...(rclone.remotes.length + rclone.ignored.length > 0 ? (["rclone.conf"] as const) : []),
    ...(aws.length > 0 ? (["AWS files"] as const) : []),
    ...(remotes.length > 0 ? (["DVC's file"] as const) : []),
    ...(boto.length > 0 ? (["boto's file"] as const) : []),
    ...(s3cmd.length > 0 ? (["s3cmd's file"] as const) : []),
    ...(fromVariables.length > 0 ? (["environment"] as const) : []),
    ...(commands.length > 0 ? (["rclone command"] as const) : []),
  ];
  return {
    kind: kinds.length > 1 ? "mixed" : (kinds[0] ?? "nothing"),
    made: reads.slice(0, MOST_DRAFTS).map(makeDraft),
    findings: unique(findings),
    ignored: [...rclone.ignored, ...otherRemotes, ...ignored].slice(0, MOST_IGNORED),
  };
}
