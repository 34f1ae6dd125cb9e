/** Where to go after signing in: a path of this hub, whatever the address says. */
export const safeNext = (wanted: string | null): string =>
  wanted !== null && /^\/(?![/\\])[^\\\u0000-\u001f]*$/.test(wanted) && !wanted.startsWith("/sign-in") ? wanted : "/";
