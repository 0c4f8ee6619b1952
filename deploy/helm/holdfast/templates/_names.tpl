{{- define "holdfast.labels" -}}
app.kubernetes.io/name: holdfast
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "holdfast.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "holdfast.storeSecret" -}}
{{ .Values.store.existingSecret | default (printf "%s-store" .Release.Name) }}
{{- end }}

{{- define "holdfast.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop:
      - ALL
{{- end }}

{{- define "holdfast.pod" -}}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "holdfast.storeUrl" -}}
- name: HOLDFAST_URL
{{- if eq .Values.store.kind "sqlite" }}
  value: file:/data/holdfast.db
{{- else }}
  valueFrom:
    secretKeyRef:
      name: {{ include "holdfast.storeSecret" . }}
      key: {{ .Values.store.existingSecretKey }}
{{- end }}
{{- end }}
