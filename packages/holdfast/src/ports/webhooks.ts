/** How alerts leave the process. */
export interface Webhooks {
  /**
   * Posts the body and answers with the status. Redirects are not followed: their status is the answer. Rejects if there is no answer,
   * and when the signal is aborted.
   */
  post(request: WebhookRequest): Promise<{ readonly status: number }>;
}

export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}
