/**
 * Reads browser and system from a User-Agent by a closed list, so that no untrusted text is passed on. The order matters,
 * because most browsers also name others (https://www.rfc-editor.org/rfc/rfc9110#name-user-agent).
 */

const BROWSERS = [
  ["Edge", /\bEdg(e|A|iOS)?\//],
  ["Opera", /\bOPR\//],
  ["Firefox", /\b(Firefox|FxiOS)\//],
  ["Chrome", /\b(Chrome|Chromium|HeadlessChrome|CriOS)\//],
  ["Safari", /\bVersion\/[0-9.]+ .*\bSafari\//],
  ["curl", /^curl\//],
  ["Python", /^(python-requests|python-urllib3?|aiohttp)\b/i],
  ["Node", /^(node|undici)\b/i],
] as const;

const SYSTEMS = [
  ["Android", /\bAndroid\b/],
  ["iOS", /\b(iPhone|iPad)\b/],
  ["Windows", /\bWindows NT\b/],
  ["ChromeOS", /\bCrOS\b/],
  ["macOS", /\bMac OS X\b/],
  ["Linux", /\bLinux\b/],
] as const;

type Named = readonly (readonly [name: string, pattern: RegExp])[];
const nameIn = (named: Named, text: string): string | null =>
  named.find(([, pattern]) => pattern.test(text))?.[0] ?? null;

export const readAgent = (text: string): { browser: string | null; system: string | null } => ({
  browser: nameIn(BROWSERS, text),
  system: nameIn(SYSTEMS, text),
});
