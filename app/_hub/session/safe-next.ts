/** Returns where to go after signing in. Only paths of this hub are allowed: a link in a mail must not lead to another site. */
export const safeNext = (wanted: string | null): string =>
  wanted !== null && /^\/(?![/\\])[^\\\u0000-\u001f]*$/.test(wanted) && !wanted.startsWith("/sign-in") ? wanted : "/";
