/** Written by `npm run generate` from packaging/download/machineadm-download.ps1. */
export const DOWNLOAD_SCRIPT_WINDOWS = `# --- rendered
$Version = ''
$ArchiveDigest = ''
$ProgramDigest = ''
$Locations = @()
$Deadline = 900
# --- end of what is rendered
Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'
$Clock = [Diagnostics.Stopwatch]::StartNew()
$Directory = Join-Path ([Environment]::GetFolderPath('ProgramFiles')) 'machineadm'
$To = Join-Path $Directory 'machineadm.exe'
$Work = $null
$Code = 67
$Why = 'no location answered'
function Say([string] $Text) {
[Console]::Error.WriteLine('machineadm-download: ' + ($Text -replace '[^ -~]', ' '))
}
function Tell([string] $Text) {
Say $Text
try {
$port = New-Object IO.Ports.SerialPort 'COM1', 115200
$port.WriteTimeout = 2000
$port.Open()
$port.Write("machineadm-download: $Text\`r\`n")
$port.Close()
} catch { }
}
function Clear-Work {
if ($Work) { Remove-Item -Recurse -Force -LiteralPath $Work -ErrorAction SilentlyContinue }
}
function Die([int] $Status, [string] $Text) {
Clear-Work
Tell "$Text [$Status]"
exit $Status
}
function Refuse([int] $Status, [string] $Text) {
$script:Code = $Status
$script:Refused = $true
throw $Text
}
function Get-Digest([string] $Path) {
(Get-FileHash -Algorithm SHA256 -LiteralPath $Path).Hash.ToLowerInvariant()
}
function Open-Url([Uri] $Url, [string] $Authorization) {
if ($Url.IsFile) { return [IO.File]::OpenRead($Url.LocalPath) }
for ($hop = 0; $hop -lt 6; $hop++) {
$request = [Net.WebRequest]::Create($Url)
$request.AllowAutoRedirect = $false
$request.Timeout = 20000
$request.ReadWriteTimeout = 20000
if ($hop -eq 0 -and $Authorization -ne '-') {
$request.Headers.Add([IO.File]::ReadAllText($Authorization).Trim())
}
$response = $request.GetResponse()
if ([int] $response.StatusCode -lt 300) { return $response.GetResponseStream() }
$next = New-Object Uri $Url, $response.Headers['Location']
$response.Close()
if ($next.Scheme -ne 'https' -and ($Url.Scheme -eq 'https' -or $next.Scheme -ne 'http')) { Refuse 76 "redirect to $next" }
$Url = $next
}
throw 'too many redirects'
}
function Save-Archive([string] $Base, [string] $Authorization, [string] $Path) {
$from = Open-Url "$Base/$Version/$File" $Authorization
try {
$into = [IO.File]::Create($Path)
try {
$buffer = New-Object byte[] 65536
$since = $Clock.Elapsed.TotalSeconds
$lately = 0
while (($count = $from.Read($buffer, 0, $buffer.Length)) -gt 0) {
if ($into.Length -eq 0 -and $buffer[0] -eq 60) { Refuse 75 "$File is a web page" }
$into.Write($buffer, 0, $count)
if ($into.Length -gt 268435456) { Refuse 68 "$File is too large" }
$lately += $count
$now = $Clock.Elapsed.TotalSeconds
if ($now -gt $Deadline) { throw 'the deadline passed' }
if ($now - $since -gt 30) {
if ($lately -lt 30720) { throw 'too slow' }
$since = $now
$lately = 0
}
}
} finally { $into.Dispose() }
} finally { $from.Dispose() }
$found = Get-Digest $Path
if ($found -ne $ArchiveDigest) { Refuse 68 "$File has the SHA-256 $found, not $ArchiveDigest" }
}
function Get-Archive([string] $Path) {
$left = $Locations
$ceiling = 2
$random = [Security.Cryptography.RandomNumberGenerator]::Create()
while ($true) {
$rest = @()
foreach ($location in $left) {
$base, $authorization = $location -split ' '
$script:Refused = $false
try {
Save-Archive $base $authorization $Path
return
} catch {
$text = "\${base}: $($_.Exception.Message)"
Say "$text (clock: $([DateTime]::UtcNow.ToString('yyyy-MM-dd')))"
if ($Refused) { $script:Why = $text } else { $rest += $location }
}
}
$left = $rest
$bytes = New-Object byte[] 2
$random.GetBytes($bytes)
$pause = [BitConverter]::ToUInt16($bytes, 0) % $ceiling + 1
if ($left.Count -eq 0 -or $Clock.Elapsed.TotalSeconds + $pause -ge $Deadline) { Die $Code "failed: $Why" }
$ceiling = [Math]::Min($ceiling * 2, 60)
Start-Sleep -Seconds $pause
}
}
function Expand-Gzip([string] $Archive, [string] $Path) {
$from = New-Object IO.Compression.GZipStream ([IO.File]::OpenRead($Archive)), ([IO.Compression.CompressionMode]::Decompress)
try {
$into = [IO.File]::Create($Path)
try {
$from.CopyTo($into)
$into.Flush($true)
} finally { $into.Dispose() }
} finally { $from.Dispose() }
}
function Install-Program([string] $Archive, [string] $New) {
try { Expand-Gzip $Archive $New } catch { Die 72 "\${Directory}: $($_.Exception.Message)" }
$found = Get-Digest $New
if ($found -ne $ProgramDigest) { Die 68 "the program in $File has the SHA-256 $found" }
try { $told = & $New --version } catch { Die 73 "does not run here: $($_.Exception.Message)" }
if ($told -ne $Version) { Die 73 "does not run here: it says $told, and not $Version" }
try {
if ([IO.File]::Exists($To)) { [IO.File]::Replace($New, $To, [NullString]::Value) } else { [IO.File]::Move($New, $To) }
} catch { Die 72 "$To cannot be replaced: $($_.Exception.Message)" }
if ((Get-Digest $To) -ne $ProgramDigest) {
Remove-Item -Force -LiteralPath $To
Die 74 "$To was swapped after it was verified"
}
Tell "installed $To $Version ($ProgramDigest)"
}
if (-not $Version) { Die 64 'not rendered' }
$identity = [Security.Principal.WindowsPrincipal] [Security.Principal.WindowsIdentity]::GetCurrent()
if (-not $identity.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) { Die 64 'not an administrator' }
$kind = $env:PROCESSOR_ARCHITEW6432
if (-not $kind) { $kind = $env:PROCESSOR_ARCHITECTURE }
if ($kind -ne 'AMD64') { Die 65 "not for $kind" }
$File = "machineadm-$Version-windows-amd64.exe.gz"
if (-not ([IO.File]::Exists($To) -and (Get-Digest $To) -eq $ProgramDigest)) {
[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
try {
$Work = Join-Path $Directory ('.machineadm.' + [Guid]::NewGuid())
[void] (New-Item -ItemType Directory -Force -Path $Work)
} catch { Die 72 "\${Directory}: $($_.Exception.Message)" }
$archive = Join-Path $Work 'archive'
Get-Archive $archive
Install-Program $archive (Join-Path $Work 'machineadm.exe')
Clear-Work
}
if ($args.Count -gt 0) {
& $To @args
exit $LASTEXITCODE
}
exit 0
`;
