/** How people sign in to this server, which says so in its page: see src/server/http/dashboard.ts. */
export interface SignInWays {
  /** Empty if nobody has to. */
  readonly ways: readonly ('keys' | 'jwt' | 'proxy')[];
  readonly openId?: {
    readonly issuer: string;
    readonly clientId: string;
    readonly scope: string;
    readonly parameters: string;
    readonly usesIdToken: boolean;
  };
}

export interface Session {
  /** What the server is shown. */
  readonly token: string;
  /** Of a sign-in at the issuer; it may give no refresh token. */
  readonly openId?: { readonly refreshToken?: string | undefined; readonly idToken?: string | undefined };
}

export const signInWays: SignInWays = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name="sign-in"]')?.content ?? '{"ways":[]}',
);
