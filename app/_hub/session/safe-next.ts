/** Returns where to go after signing in. Only paths of this hub are allowed, which prevents open redirects. */
export const safeNext = (wanted: string | null): string =>
  wanted !== null && /^\/(?![/\\])[^\\\u0000-\u001f]*$/.test(wanted) && !wanted.startsWith("/sign-in") ? wanted : "/";
