/**
 * Splits any pasted text into sections of rclone.conf and the AWS files, variables in the notations of shells, Docker and
 * compose, and rclone commands. Strict and limited: other lines are only counted. They are never repeated, because a line
 * may be a key pasted alone. Pure.
 */

/** Larger than any real paste. The rest is skipped and reported. */
const PASTED: TextLimits = { lines: 4000, sections: 64 };
const MOST_VARIABLES = 500;
const MOST_COMMANDS = 16;
const LONGEST_VALUE = 4096;

export interface TextLimits {
  lines: number;
  sections: number;
}

export interface Section {
  name: string;
  /** Keys in lower case; an indented key is `outer.inner`. Values without quotes and comments, as in the AWS files. */
  values: Map<string, string>;
  /** The literal values: in rclone.conf and s3cmd's file quotes, ` #` and `$` are part of a value. */
  literal: Map<string, string>;
}

export interface TakenApart {
  sections: Section[];
  variables: Map<string, string>;
  /** One line each, with continuation lines joined. */
  commands: string[];
  ignored: string[];
}

const SECTION = /^\[([^[\]]{1,128})\]$/;
const COMMAND = /^(?:\$ |# |> )?(?:sudo |time |nohup )?(?:\.\/|\/(?:[\w.-]{1,64}\/){1,8})?rclone(?:\.exe)?(?: |$)/;
const ASSIGNMENTS: readonly RegExp[] = [
  // The quotes may include the name: cmd, lists in compose files, JSON.
  /^(?:set |- |-e |--env )?"([A-Z][A-Z0-9_]{1,100})=([^"]*)",?$/,
  /^(?:\$ )?(?:export |set |ENV |env |- |-e |--env )?(MC_HOST_\w{1,64}|[A-Z][A-Z0-9_]{1,100})=(.*)$/,
  /^\$env:([A-Za-z][A-Za-z0-9_]{1,100})\s*=\s*(.*)$/i,
  // Windows `setx`, Docker, csh and fish.
  /^(?:\$ )?(?:setx|ENV|setenv|set (?:-[A-Za-z]+ |--[a-z]+ ){1,4}) ?([A-Z][A-Z0-9_]{1,100}) (.*)$/,
  /^(?:- )?"?([A-Z][A-Z0-9_]{1,100})"?\s*:\s+(.*)$/,
];
const OPTION = /^([A-Za-z][A-Za-z0-9_-]{0,64})\s*=(.*)$/;
// Tabs become spaces before this test. Other invisible characters do not occur in such files.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}]/u;

/** Returns a value without its quotes and without a trailing comment; null when a quote is not closed. */
function bareValue(text: string): string | null {
  const value = text.trim();
  const quote = value[0];
  if (quote !== '"' && quote !== "'") return value.replace(/\s[#;].*$/, "").trimEnd();
  const end = value.indexOf(quote, 1);
  return end < 0 ? null : value.slice(1, end);
}

const isReference = (value: string): boolean => /^\$\{?[A-Za-z_(]|^%[A-Za-z_]+%$|^\{\{/.test(value);

/** Decodes a base64 value; null when it is not base64 or not text. */
export function decodedValue(text: string): string | null {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return null;
  const value = atob(text).trimEnd();
  return /^[\x20-\x7e]*$/.test(value) ? value : null;
}

interface Assignment {
  name: string;
  value: string;
  /** From a compose file, where `$$` stands for `$`. */
  isCompose: boolean;
}

function assignmentOf(line: string): Assignment | null {
  for (const [index, pattern] of ASSIGNMENTS.entries()) {
    const [, name, value] = pattern.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    const isCompose = index === ASSIGNMENTS.length - 1 || (index < 2 && /^- (?!-)/.test(line));
    return { name: name.toUpperCase(), value, isCompose };
  }
  return null;
}

/** Joins lines that end with a continuation character to the next line. */
function joinLines(text: string): string[] {
  const joined: string[] = [];
  let open = false;
  for (const line of text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/)) {
    const last = joined.at(-1);
    const goesOn = /\s[\\^`]$/.test(line);
    const bare = goesOn ? line.slice(0, -1) : line;
    if (open && last !== undefined) joined[joined.length - 1] = `${last} ${bare.trim()}`;
    else joined.push(bare);
    open = goesOn;
  }
  return joined;
}

interface Reading extends TakenApart {
  /** `isSecret`: a Kubernetes Secret. `isEncoded`: its values are base64 here, below `data` but not below `stringData`. */
  isSecret: boolean;
  isEncoded: boolean;
  mostSections: number;
  section: Section | null;
  /** The key that indented lines belong to. */
  outer: string | null;
  notUnderstood: number;
  isTooMuch: boolean;
}

function openSection(reading: Reading, name: string): void {
  reading.outer = null;
  reading.section = { name, values: new Map(), literal: new Map() };
  if (reading.sections.length < reading.mostSections) reading.sections.push(reading.section);
  else reading.isTooMuch = true;
}

function takeVariable(reading: Reading, { name, value: written, isCompose }: Assignment): void {
  const bare = bareValue(written);
  const value = bare !== null && reading.isEncoded ? decodedValue(bare) : bare;
  // A shell does not expand `$` in single quotes, so the value is no reference.
  const isLiteral = written.trim().startsWith("'");
  if (value === null || value.length > LONGEST_VALUE) reading.notUnderstood++;
  else if (!isLiteral && isReference(value)) reading.ignored.push(`${name} takes its value from elsewhere`);
  else if (reading.variables.size >= MOST_VARIABLES) reading.isTooMuch = true;
  else reading.variables.set(name, isCompose ? value.replaceAll("$$", () => "$") : value);
}

function takeOption(reading: Reading, line: string): void {
  const text = line.trimStart();
  const isIndented = text !== line;
  const [, key, written] = OPTION.exec(text) ?? [];
  const literal = written?.trim() ?? "";
  if (reading.section === null || key === undefined || literal.length > LONGEST_VALUE) {
    reading.notUnderstood++;
    return;
  }
  const value = bareValue(literal);
  const name = key.toLowerCase();
  const isInner = isIndented && reading.outer !== null;
  if (!isInner) reading.outer = value === "" ? name : null;
  const full = isInner ? `${reading.outer}.${name}` : name;
  reading.section.literal.set(full, literal);
  if (value !== null) reading.section.values.set(full, value);
}

function takeLine(reading: Reading, raw: string): void {
  const line = raw.replaceAll("\t", " ").trimEnd();
  const text = line.trim();
  if (COMMAND.test(text)) {
    if (reading.commands.length < MOST_COMMANDS) reading.commands.push(text);
    else reading.isTooMuch = true;
    return;
  }
  if (text === "" || text.startsWith("#") || text.startsWith(";") || text.startsWith("//")) return;
  if (UNSEEN.test(text)) {
    reading.notUnderstood++;
    return;
  }
  if (reading.isSecret && /^\w+:/.test(line)) reading.isEncoded = text === "data:";
  const section = SECTION.exec(text)?.[1];
  const assignment = assignmentOf(text);
  if (section !== undefined) openSection(reading, section.trim());
  else if (assignment !== null) takeVariable(reading, assignment);
  else takeOption(reading, line);
}

/** Returns how many values have an unclosed quote, in files where quotes have a meaning. */
const unclosedIn = (sections: readonly Section[]): number =>
  sections
    .filter(({ literal }) => !literal.has("type"))
    .reduce((sum, { values, literal }) => sum + literal.size - values.size, 0);

/** Splits a pasted text, or with other limits a file of this machine's user. Never throws. */
export function takeApart(text: string, limits: TextLimits = PASTED): TakenApart {
  const reading: Reading = {
    isSecret: /^kind:[ \t]*["']?Secret\b/m.test(text),
    isEncoded: false,
    mostSections: limits.sections,
    sections: [],
    variables: new Map(),
    commands: [],
    ignored: [],
    section: null,
    outer: null,
    notUnderstood: 0,
    isTooMuch: false,
  };
  const lines = joinLines(text);
  for (const line of lines.slice(0, limits.lines)) takeLine(reading, line);
  const { sections, variables, commands, ignored } = reading;
  const count = reading.notUnderstood + unclosedIn(sections);
  if (count > 0) ignored.push(`${count === 1 ? "1 line was" : `${count} lines were`} not understood`);
  if (reading.isTooMuch || lines.length > limits.lines) {
    ignored.push("the text holds more than is read at once; what is beyond was left aside");
  }
  return { sections, variables, commands, ignored };
}
