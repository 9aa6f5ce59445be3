# PowerShell completion for machineadm, Windows PowerShell 5.1 and later; `machineadm completion powershell` prints it.
# Where a completer returns nothing, PowerShell offers files.
Register-ArgumentCompleter -Native -CommandName 'machineadm', 'machineadm.exe' -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $elements = @($commandAst.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.Extent.Text.Trim('"', "'") })
  $program = $commandAst.CommandElements[0].Extent.Text.Trim('"', "'")
  $words = @($elements | Select-Object -Skip 1)
  $found = @(& $program '__complete' "--current=$wordToComplete" '--' $words 2>$null)
  if ($found.Count -eq 0) { return }
  $directive = $found[-1]
  foreach ($line in $found) {
    if ($line.StartsWith(':')) { continue }
    $value, $description = $line -split [char]9, 2
    if (-not $description) { $description = $value }
    [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $description)
  }
  if ($found.Count -eq 1 -and ($directive -eq ':none' -or $directive -eq ':partial')) { '' }
}
