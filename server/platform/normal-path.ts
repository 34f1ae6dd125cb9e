/**
 * Returns whether the path of a request is in its one normal form. Otherwise another spelling, which a router behind it
 * resolves, would bypass checks of path prefixes: `/./_next/image`, `/%2e/x`, `//x`, `\\x`.
 */
export function isNormalPath(url: string): boolean {
  const [path = ""] = url.split("?", 1);
  if (!path.startsWith("/") || path.includes("//") || /%(2e|2f|5c)/i.test(path)) return false;
  if (URL.parse(path, "http://hub.invalid")?.pathname !== path) return false;
  try {
    return !/[\u0000-\u001f\u007f\\]/.test(decodeURIComponent(path));
  } catch {
    return false;
  }
}
