/** CORS rules of a bucket: parsing, writing, and the headers that they add. Source: the Fetch standard. */
import type { XmlElement } from "./xml.ts";
import { S3Error } from "./s3-error.ts";
import { branch, childrenNamed, childText, leaf } from "./xml.ts";

/** One rule in S3's terms; `*` in origins and headers matches any text. */
export type CorsRule = {
  readonly origins: readonly string[];
  readonly methods: readonly string[];
  readonly headers: readonly string[];
  readonly exposed: readonly string[];
  readonly maxAgeSeconds: number | undefined;
};

/** A browser's request: its origin and method and, for a preflight, the headers that it wants to send. */
export type CorsRequest = {
  readonly origin: string;
  readonly method: string;
  readonly headers: readonly string[];
};

const METHODS = ["GET", "PUT", "POST", "DELETE", "HEAD"];
const MAX_RULES = 100;

/** Returns a rule that allows an origin every method and exposes every header that an S3 client needs. */
export function openRule(origin: string): CorsRule {
  const exposed = ["ETag", "Content-Range", "Content-Length", "Accept-Ranges", "Date", "x-amz-request-id"];
  const checksums = ["crc32", "crc32c", "crc64nvme", "sha1", "sha256", "type"].map((name) => `x-amz-checksum-${name}`);
  return {
    origins: [origin],
    methods: METHODS,
    headers: ["*"],
    exposed: [...exposed, ...checksums],
    maxAgeSeconds: 600,
  };
}

function texts(rule: XmlElement, name: string): readonly string[] {
  return childrenNamed(rule, name).map((child) => child.text.trim());
}

/** Parses a CORSConfiguration document. Throws MalformedXML or InvalidRequest. */
export function readCorsRules(root: XmlElement): readonly CorsRule[] {
  const rules = childrenNamed(root, "CORSRule").map((rule) => {
    const maxAge = childText(rule, "MaxAgeSeconds");
    return {
      origins: texts(rule, "AllowedOrigin"),
      methods: texts(rule, "AllowedMethod"),
      headers: texts(rule, "AllowedHeader"),
      exposed: texts(rule, "ExposeHeader"),
      maxAgeSeconds: maxAge === undefined ? undefined : Number(maxAge),
    };
  });
  const complete = rules.every((rule) => rule.origins.length > 0 && rule.methods.length > 0);
  if (root.name !== "CORSConfiguration" || rules.length === 0 || rules.length > MAX_RULES || !complete) {
    throw new S3Error(
      "MalformedXML",
      "The XML you provided was not well-formed or did not validate against our schema.",
    );
  }
  for (const method of rules.flatMap((rule) => rule.methods)) {
    if (METHODS.includes(method)) continue;
    throw new S3Error(
      "InvalidRequest",
      `Found unsupported HTTP method in CORS config. Unsupported method is ${method}`,
    );
  }
  return rules;
}

/** Returns the rules as child elements of a CORSConfiguration. */
export function corsElements(rules: readonly CorsRule[]): readonly string[] {
  return rules.map((rule) =>
    branch("CORSRule", [
      ...rule.origins.map((origin) => leaf("AllowedOrigin", origin)),
      ...rule.methods.map((method) => leaf("AllowedMethod", method)),
      ...rule.headers.map((header) => leaf("AllowedHeader", header)),
      ...rule.exposed.map((header) => leaf("ExposeHeader", header)),
      leaf("MaxAgeSeconds", rule.maxAgeSeconds),
    ]),
  );
}

function fits(pattern: string, text: string): boolean {
  const star = pattern.indexOf("*");
  if (star < 0) return pattern === text;
  const head = pattern.slice(0, star);
  const tail = pattern.slice(star + 1);
  return text.length >= head.length + tail.length && text.startsWith(head) && text.endsWith(tail);
}

/** Returns the first rule that allows a request, or undefined. */
export function matchRule(rules: readonly CorsRule[], request: CorsRequest): CorsRule | undefined {
  return rules.find(
    (rule) =>
      rule.origins.some((pattern) => fits(pattern, request.origin)) &&
      rule.methods.includes(request.method) &&
      request.headers.every((header) =>
        rule.headers.some((pattern) => fits(pattern.toLowerCase(), header.toLowerCase())),
      ),
  );
}

/** Returns the headers that a rule adds to an answer. */
export function corsHeaders(rule: CorsRule, request: CorsRequest): Record<string, string> {
  const anyone = rule.origins.includes("*");
  const headers: Record<string, string> = {
    "access-control-allow-origin": anyone ? "*" : request.origin,
    "access-control-allow-methods": rule.methods.join(", "),
    vary: "Origin, Access-Control-Request-Headers, Access-Control-Request-Method",
  };
  if (!anyone) headers["access-control-allow-credentials"] = "true";
  if (rule.exposed.length > 0) headers["access-control-expose-headers"] = rule.exposed.join(", ");
  if (request.headers.length > 0) headers["access-control-allow-headers"] = request.headers.join(", ");
  if (rule.maxAgeSeconds !== undefined) headers["access-control-max-age"] = String(rule.maxAgeSeconds);
  return headers;
}

/** Parses the rules stored in the index. */
export function storedRules(json: string | undefined): readonly CorsRule[] {
  return json === undefined ? [] : (JSON.parse(json) as readonly CorsRule[]);
}
