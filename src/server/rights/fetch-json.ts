/** What the issuer of tokens says of itself, such as its keys, with bounds on how long and how large. */
export async function fetchJson(
  url: string | URL,
  { withinMs, maxBytes }: { readonly withinMs: number; readonly maxBytes: number },
): Promise<unknown> {
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    // Following a redirect would mean trusting somebody else.
    redirect: 'error',
    signal: AbortSignal.timeout(withinMs),
  });
  if (!response.ok) throw new Error(`The issuer answered ${response.status}.`);
  let text = '';
  const decoder = new TextDecoder();
  for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(part, { stream: true });
    if (text.length > maxBytes) throw new Error(`The answer has more than ${maxBytes} characters.`);
  }
  return JSON.parse(text);
}
